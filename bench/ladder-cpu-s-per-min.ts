/**
 * How much CPU does the whole service spend on a minute of one live ladder, against one `ffmpeg` command that makes the same?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../test/support/wait-for.ts';
import { startFfmpegLadder } from './peers/ffmpeg-ladder.ts';
import { LADDER, sourceClip, startLadders, transcoderPids, transcoderWarnings } from './support/ladder.ts';
import { publishTo } from './support/load.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, show } from './support/question.ts';
import { median } from './support/statistics.ts';

const ROUNDS = 3;
const SECONDS = 60;
/** The time before the measurement, in which V8 compiles what runs often. `passthrough-against-nginx` has the first minute of a server. */
const SETTLE_MS = 60_000;
const TIMES = 1.05;

/** CPU seconds of one round. */
interface Round {
  readonly server: number;
  readonly worker: number;
  readonly peer: number;
}

/** Answers the question above. */
export async function ladderCpuSPerMin(): Promise<readonly Answer[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await bothAtOnce());
  const ratios = rounds.map(({ server, worker, peer }) => (server + worker) / peer);
  const seconds = (of: (round: Round) => number) => `${show(median(rounds.map(of)))} s`;
  return [
    {
      question: `CPU of the whole service for ${SECONDS} s of live ${LADDER.name}, \`veryfast\`, median of ${ROUNDS}`,
      measured: seconds(({ server, worker }) => server + worker),
      against: `one \`ffmpeg\` command at the same time ${seconds(({ peer }) => peer)}`,
      ratio: median(ratios),
      mustReach: `<= ${TIMES}x`,
      reached: median(ratios) <= TIMES,
      details: `server ${seconds(({ server }) => server)}, worker ${seconds(({ worker }) => worker)}; rounds ${ratios.map(show).join(', ')}x`,
    },
  ];
}

/** Runs both side by side, because the speed of a shared machine changes from minute to minute, and must affect both. */
async function bothAtOnce(): Promise<Round> {
  const clip = await sourceClip(LADDER);
  await using peer = await startFfmpegLadder(LADDER);
  await using _load = await publishTo(peer.port, [peer], clip);
  await using ladders = await startLadders(1, LADDER, clip);
  await waitFor(() => peer.isWriting(), { what: 'the command to write every rendition', timeoutMs: 30_000 });
  const { server } = ladders;
  await sleep(SETTLE_MS);
  const [worker] = transcoderPids(server, 1);
  const spent = await cpuSecondsOf([server.pid, worker!, peer.pid]);
  if (transcoderPids(server, 1)[0] !== worker || transcoderWarnings(server).length > 0)
    throw new Error('the transcoder did not make all frames');
  return { server: spent[0]!, worker: spent[1]!, peer: spent[2]! };
}

async function cpuSecondsOf(pids: readonly number[]): Promise<readonly number[]> {
  const before = pids.map(cpuMs);
  await sleep(SECONDS * 1000);
  return pids.map((pid, index) => (cpuMs(pid) - before[index]!) / 1000);
}

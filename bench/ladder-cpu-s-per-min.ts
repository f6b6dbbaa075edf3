/**
 * How much CPU does the whole service spend on a minute of one live ladder, against one `ffmpeg` command that makes the same?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../test/support/wait-for.ts';
import { startFfmpegLadder } from './peers/ffmpeg-ladder.ts';
import { LADDER_NAME, sourceClip, startLadders, transcoderPids, transcoderWarnings } from './support/ladder.ts';
import { startPeer } from './support/peer-process.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, show } from './support/question.ts';
import { median } from './support/statistics.ts';

const ROUNDS = 3;
const SECONDS = 60;
/** Measured after the first segments are through. */
const SETTLE_MS = 6000;
const TIMES = 1.15;

/** Answers it. */
export async function ladderCpuSPerMin(): Promise<readonly Answer[]> {
  const rounds: { server: number; worker: number; peer: number }[] = [];
  // In turn, each with a machine to itself, over and over: what the machine does meanwhile meets both.
  for (let round = 0; round < ROUNDS; round += 1) rounds.push({ ...(await ours()), peer: await peers() });
  const whole = median(rounds.map(({ server, worker }) => server + worker));
  const peer = median(rounds.map((round) => round.peer));
  const ratios = rounds.map((round) => show((round.server + round.worker) / round.peer));
  const parts = `server ${show(median(rounds.map(({ server }) => server)))}, worker ${show(median(rounds.map(({ worker }) => worker)))}`;
  return [
    {
      question: `CPU of the whole service for ${SECONDS} s of live ${LADDER_NAME}, \`veryfast\`, median of ${ROUNDS}`,
      measured: `${show(whole)} s (${parts})`,
      against: `one \`ffmpeg\` command ${show(peer)} s; rounds ${ratios.join(', ')}x`,
      ratio: whole / peer,
      mustReach: `<= ${TIMES}x`,
      reached: whole <= TIMES * peer,
    },
  ];
}

/** CPU seconds. */
async function ours(): Promise<{ readonly server: number; readonly worker: number }> {
  await using ladders = await startLadders(1, await sourceClip());
  const { server } = ladders;
  await sleep(SETTLE_MS);
  const [worker] = transcoderPids(server, 1);
  const spent = await cpuSecondsOf([server.pid, worker!]);
  if (transcoderPids(server, 1)[0] !== worker || transcoderWarnings(server).length > 0)
    throw new Error('the transcoder did not make it all');
  return { server: spent[0]!, worker: spent[1]! };
}

async function peers(): Promise<number> {
  await using peer = await startFfmpegLadder();
  const { port, streamKey } = peer;
  const job = { port, streamKeys: [streamKey], clip: await sourceClip(), apartMs: 0 };
  await using _load = await startPeer('replayers.ts', job);
  await waitFor(() => peer.isWriting(), { what: 'the command to write every rendition', timeoutMs: 30_000 });
  await sleep(SETTLE_MS);
  return (await cpuSecondsOf([peer.pid]))[0]!;
}

async function cpuSecondsOf(pids: readonly number[]): Promise<readonly number[]> {
  const before = pids.map(cpuMs);
  await sleep(SECONDS * 1000);
  return pids.map((pid, index) => (cpuMs(pid) - before[index]!) / 1000);
}

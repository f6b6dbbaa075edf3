/**
 * The largest ladder that takes, on this machine, no more of a core than limits were set for.
 *
 * Limits that name so many ladders, a ladder beside a browser, or the delay of a ladder suppose that one `ffmpeg` command takes
 * {@link CORES_A_LADDER} for it. On a slower machine that much of a core is fewer pixels: everything that counts in frames stays the same.
 * What the host of a virtual machine takes away makes it slower, too, and so do neighbours on the same physical cores, now and then:
 * the slowest of {@link ROUNDS} counts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimes, stolenShare } from '../../test/support/cpu-times.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { type FfmpegLadder, startFfmpegLadder } from '../peers/ffmpeg-ladder.ts';
import { begunAt } from './clip.ts';
import { LADDER, type Ladder, ladderOf, SOURCE_LINES, sourceClip } from './ladder.ts';
import { startPeer } from './peer-process.ts';
import { cpuMs } from './process-usage.ts';
import { show } from './question.ts';

const CORES_A_LADDER = 0.3;
const SETTLE_MS = 4000;
/** Of the whole clip, since some of its pictures are harder than others. */
const ROUNDS = 3;

/** What was measured, and what follows of it. */
export interface MachineLadder {
  readonly ladder: Ladder;
  /** So many commands run side by side: cores that are threads of one core are slower together. */
  readonly count: number;
  /** Cores that each takes for it, with its share of what the host took away meanwhile. */
  readonly cores: number;
  /** The same of one alone for {@link LADDER}. */
  readonly fullCores: number;
}

const found = new Map<number, Promise<MachineLadder>>();

/**
 * Finds it at the first call, in two to six minutes, on a machine that does nothing else meanwhile.
 * @param count ladders that the question asks for at once
 */
export function machineLadder(count = 1): Promise<MachineLadder> {
  const ladder = found.get(count) ?? find(count);
  found.set(count, ladder);
  return ladder;
}

/** For tables: why the ladder is not the one asked of. */
export function explainLadder({ ladder, count, cores, fullCores }: MachineLadder): string {
  if (ladder === LADDER) return '';
  const besides = count === 1 ? '' : `, ${count} side by side`;
  return `; \`ffmpeg\` takes ${show(fullCores)} of a core here for ${LADDER.name}, ${show(cores)} for this ladder${besides}, at its slowest`;
}

async function find(count: number): Promise<MachineLadder> {
  const fullCores = await coresOf(LADDER, 1);
  let ladder = LADDER;
  let cores = fullCores;
  if (count > 1 && cores <= CORES_A_LADDER) cores = await coresOf(ladder, count);
  while (cores > CORES_A_LADDER) {
    // What it takes is nearly, not quite, in proportion to the pixels.
    const lines = ladder.source.height * Math.sqrt(CORES_A_LADDER / cores);
    ladder = ladderOf(Math.min(lines, ladder.source.height - SOURCE_LINES.step));
    cores = await coresOf(ladder, count);
  }
  return { ladder, count, cores, fullCores };
}

/** Cores that each of so many commands takes now, side by side, for a ladder. */
export async function coresOf(ladder: Ladder, count: number): Promise<number> {
  await using parts = new AsyncDisposableStack();
  const clip = await sourceClip(ladder);
  const peers: FfmpegLadder[] = [];
  for (let index = 0; index < count; index += 1) {
    const peer = parts.use(await startFfmpegLadder(ladder));
    const job = { port: peer.port, streamKeys: [peer.streamKey], clip: begunAt(clip, index / count), apartMs: 0 };
    parts.use(await startPeer('replayers.ts', job));
    await waitFor(() => peer.isWriting(), { what: 'the command to write every rendition' });
    peers.push(peer);
  }
  await sleep(SETTLE_MS);
  const spentMs = () => peers.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  let most = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = { spentMs: spentMs(), atMs: performance.now(), machine: cpuTimes() };
    await sleep(clip.lengthMs);
    const given = 1 - stolenShare(before.machine);
    most = Math.max(most, (spentMs() - before.spentMs) / (performance.now() - before.atMs) / count / given);
  }
  return most;
}

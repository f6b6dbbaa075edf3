/**
 * The largest ladder that takes, on this machine, no more of a core than limits were set for.
 *
 * Limits that name so many ladders, a ladder beside a browser, or the delay of a ladder suppose that one `ffmpeg` command
 * ({@link GAUGE}) takes {@link CORES_A_LADDER} for it. On a slower machine that much of a core is fewer lines, where what is asked counts
 * in pictures, or fewer pictures a second, where it does not: everything that is done once a picture then keeps its share of the whole.
 * What the host of a virtual machine takes away makes it slower, too, and so do neighbours on the same physical cores, now and then:
 * the slowest measurement counts, but for moments in which the host took away much at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimes, stolenShare } from '../../test/support/cpu-times.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { type FfmpegLadder, GAUGE, startFfmpegLadder } from '../peers/ffmpeg-ladder.ts';
import { begunAt } from './clip.ts';
import { LADDER, type Ladder, ladderOf, SOURCE_FPS, SOURCE_LINES, sourceClip } from './ladder.ts';
import { startPeer } from './peer-process.ts';
import { cpuMs } from './process-usage.ts';
import { show } from './question.ts';
import { mean } from './statistics.ts';

const CORES_A_LADDER = 0.3;
const SETTLE_MS = 4000;
/** How often the whole clip is measured, since some of its pictures are harder than others. */
const ROUNDS = 2;
/** Share of the CPU; a measurement of which the host took away more counts only where most are like that. */
const MOST_STOLEN = 0.05;

/** What a slower machine has less of. */
type Scale = 'lines' | 'pictures';

/** Largest first. */
const LADDERS: Record<Scale, readonly Ladder[]> = {
  lines: [LADDER, ...below(SOURCE_LINES).map((lines) => ladderOf({ lines }))],
  pictures: [LADDER, ...below(SOURCE_FPS).map((framesPerSecond) => ladderOf({ framesPerSecond }))],
};

/** Cores that a command takes, with its share of what the host took away meanwhile. */
interface Cores {
  readonly mean: number;
  /** In the slowest measurement. */
  readonly slowest: number;
}

/** What was measured, and what follows of it. */
export interface MachineLadder {
  readonly ladder: Ladder;
  /** So many commands run side by side: cores that are threads of one core are slower together. */
  readonly count: number;
  /** What each takes for it. */
  readonly cores: Cores;
  /** What one alone takes for {@link LADDER}. */
  readonly fullCores: Cores;
}

const found = new Map<string, Promise<MachineLadder>>();

/**
 * Finds it at the first call, in one to eight minutes, on a machine that does nothing else meanwhile.
 * @param count ladders that the question asks for at once
 * @throws {RangeError} when the machine is too slow for the smallest
 */
export function machineLadder(count = 1, scale: Scale = 'lines'): Promise<MachineLadder> {
  const key = `${count} ${scale}`;
  const ladder = found.get(key) ?? find(count, scale);
  found.set(key, ladder);
  return ladder;
}

/** For tables: why the ladder is not the one asked of. */
export function explainLadder({ ladder, count, cores, fullCores }: MachineLadder): string {
  if (ladder === LADDER) return '';
  const besides = count === 1 ? '' : `, ${count} side by side`;
  return `; \`ffmpeg\` takes ${showCores(fullCores)} of a core here for ${LADDER.name}, ${showCores(cores)} for this ladder${besides}`;
}

/** For tables. */
export function showCores({ mean, slowest }: Cores): string {
  return `${show(mean)} (at its slowest ${show(slowest)})`;
}

async function find(count: number, scale: Scale): Promise<MachineLadder> {
  const ladders = LADDERS[scale];
  const fullCores = await coresOf(LADDER, 1);
  let at = largestWithin(ladders, LADDER, fullCores);
  let fits: { readonly at: number; readonly cores: Cores } | undefined;
  let tooMuch = -1;
  // What a ladder takes is nearly, not quite, in proportion to its pixels: some steps down and up.
  while (fits === undefined || at < fits.at) {
    const ladder = ladders[at];
    if (ladder === undefined) throw new RangeError('this machine is too slow for the smallest ladder');
    const cores = count === 1 && ladder === LADDER ? fullCores : await coresOf(ladder, count);
    const expected = largestWithin(ladders, ladder, cores);
    if (cores.slowest <= CORES_A_LADDER) {
      fits = { at, cores };
      at = Math.max(tooMuch + 1, expected);
    } else {
      tooMuch = at;
      at = Math.max(at + 1, expected);
    }
  }
  return { ladder: ladders[fits.at]!, count, cores: fits.cores, fullCores };
}

/** The place of the largest ladder that may be expected to take no more than the limit, when one takes so much. */
function largestWithin(ladders: readonly Ladder[], measured: Ladder, { slowest }: Cores): number {
  const limit = (pixelsPerSecond(measured) * CORES_A_LADDER) / slowest;
  return [...ladders, undefined].findIndex((each) => each === undefined || pixelsPerSecond(each) <= limit);
}

function pixelsPerSecond({ source: { width, height, fps } }: Ladder): number {
  return width * height * fps;
}

/** From the next below the most down to the least. */
function below({ most, least, step }: { most: number; least: number; step: number }): readonly number[] {
  return Array.from({ length: (most - least) / step }, (_, index) => most - (index + 1) * step);
}

/**
 * Cores that each of so many commands takes now, side by side, for a ladder.
 * They begin at different places of the clip, so in each measurement together they take all of it.
 */
export async function coresOf(ladder: Ladder, count: number): Promise<Cores> {
  await using parts = new AsyncDisposableStack();
  const clip = await sourceClip(ladder);
  const peers: FfmpegLadder[] = [];
  for (let index = 0; index < count; index += 1) {
    const peer = parts.use(await startFfmpegLadder(ladder, GAUGE));
    const job = { port: peer.port, streamKeys: [peer.streamKey], clip: begunAt(clip, index / count), apartMs: 0 };
    parts.use(await startPeer('replayers.ts', job));
    await waitFor(() => peer.isWriting(), { what: 'the command to write every rendition' });
    peers.push(peer);
  }
  await sleep(SETTLE_MS);
  const spentMs = () => peers.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  const measured: { readonly cores: number; readonly stolen: number }[] = [];
  while (measured.length < ROUNDS * count) {
    const before = { spentMs: spentMs(), atMs: performance.now(), machine: cpuTimes() };
    await sleep(clip.lengthMs / count);
    const stolen = stolenShare(before.machine);
    const cores = (spentMs() - before.spentMs) / (performance.now() - before.atMs) / count / (1 - stolen);
    measured.push({ cores, stolen });
  }
  // What the host took away at once is caught up with right after.
  const isCalm = (at: number) => (measured[at]?.stolen ?? 0) <= MOST_STOLEN;
  const calm = measured.filter((_, index) => isCalm(index) && isCalm(index - 1));
  const counted = (2 * calm.length >= measured.length ? calm : measured).map(({ cores }) => cores);
  return { mean: mean(counted), slowest: Math.max(...counted) };
}

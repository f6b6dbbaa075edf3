/**
 * The ladder that takes, on this machine, the share of a core that limits were set for.
 *
 * Limits that name so many ladders, a ladder beside a browser, or the delay of a ladder suppose that one `ffmpeg` command takes
 * {@link CORES_A_LADDER} for it. On a slower machine that much of a core is fewer pixels: everything that counts in frames stays the same.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import { startFfmpegLadder } from '../peers/ffmpeg-ladder.ts';
import { LADDER, type Ladder, ladderOf, SOURCE_LINES, sourceClip } from './ladder.ts';
import { startPeer } from './peer-process.ts';
import { cpuMs } from './process-usage.ts';
import { show } from './question.ts';

const CORES_A_LADDER = 0.3;
/** What two measurements of the same differ by. */
const TOLERANCE = 1.03;
const SETTLE_MS = 4000;
const MEASURED_MS = 20_000;

/** What was measured, and what follows of it. */
export interface MachineLadder {
  readonly ladder: Ladder;
  /** Cores that the `ffmpeg` command takes for it. */
  readonly cores: number;
  /** Cores that it takes for {@link LADDER}. */
  readonly fullCores: number;
}

let found: Promise<MachineLadder> | undefined;

/** Finds it at the first call, in a minute or two, on a machine that does nothing else meanwhile. */
export function machineLadder(): Promise<MachineLadder> {
  found ??= find();
  return found;
}

/** For tables: why the ladder is not the one asked of. */
export function explainLadder({ ladder, cores, fullCores }: MachineLadder): string {
  if (ladder === LADDER) return '';
  return `; \`ffmpeg\` takes ${show(fullCores)} of a core here for ${LADDER.name}, ${show(cores)} for this ladder`;
}

async function find(): Promise<MachineLadder> {
  const fullCores = await coresOf(LADDER);
  let [ladder, cores] = [LADDER, fullCores];
  while (cores > CORES_A_LADDER * TOLERANCE) {
    // What it takes is nearly, not quite, in proportion to the pixels.
    const lines = ladder.source.height * Math.sqrt(CORES_A_LADDER / cores);
    ladder = ladderOf(Math.min(lines, ladder.source.height - SOURCE_LINES.step));
    cores = await coresOf(ladder);
  }
  return { ladder, cores, fullCores };
}

async function coresOf(ladder: Ladder): Promise<number> {
  await using peer = await startFfmpegLadder(ladder);
  const job = { port: peer.port, streamKeys: [peer.streamKey], clip: await sourceClip(ladder), apartMs: 0 };
  await using _load = await startPeer('replayers.ts', job);
  await waitFor(() => peer.isWriting(), { what: 'the command to write every rendition' });
  await sleep(SETTLE_MS);
  const before = { cpuMs: cpuMs(peer.pid), atMs: performance.now() };
  await sleep(MEASURED_MS);
  return (cpuMs(peer.pid) - before.cpuMs) / (performance.now() - before.atMs);
}

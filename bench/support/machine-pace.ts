/**
 * How many frames a second a ladder has on this machine, so that it takes the share of a core that limits were set for.
 *
 * Limits that name so many ladders, or a ladder beside a browser, suppose that one `ffmpeg` command takes {@link CORES_A_LADDER} for a
 * ladder at {@link SOURCE}'s rate. On a slower machine that much of a core is fewer frames a second: everything else stays the same.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import { startFfmpegLadder } from '../peers/ffmpeg-ladder.ts';
import { SOURCE, sourceClip } from './ladder.ts';
import { startPeer } from './peer-process.ts';
import { cpuMs } from './process-usage.ts';
import { show } from './question.ts';

const CORES_A_LADDER = 0.3;
const SETTLE_MS = 4000;
const MEASURED_MS = 20_000;

/** What was measured, and what follows of it. */
export interface MachinePace {
  /** Cores that the `ffmpeg` command takes for one ladder at {@link SOURCE}'s rate. */
  readonly peerCores: number;
  /** Frames a second, whole; at most those of {@link SOURCE}. */
  readonly fps: number;
}

let measured: Promise<MachinePace> | undefined;

/** Measures it at the first call, for half a minute, on a machine that does nothing else meanwhile. */
export function machinePace(): Promise<MachinePace> {
  measured ??= measure();
  return measured;
}

/** For tables: why there are not as many frames as asked. */
export function explainPace({ peerCores, fps }: MachinePace): string {
  if (fps === SOURCE.fps) return '';
  return `; \`ffmpeg\` takes ${show(peerCores)} of a core here for ${SOURCE.fps} frames a second, so ${CORES_A_LADDER} for these ${fps}`;
}

async function measure(): Promise<MachinePace> {
  await using peer = await startFfmpegLadder();
  const job = { port: peer.port, streamKeys: [peer.streamKey], clip: await sourceClip(), apartMs: 0 };
  await using _load = await startPeer('replayers.ts', job);
  await waitFor(() => peer.isWriting(), { what: 'the command to write every rendition' });
  await sleep(SETTLE_MS);
  const before = { cpuMs: cpuMs(peer.pid), atMs: performance.now() };
  await sleep(MEASURED_MS);
  const peerCores = (cpuMs(peer.pid) - before.cpuMs) / (performance.now() - before.atMs);
  return { peerCores, fps: Math.floor(SOURCE.fps * Math.min(1, CORES_A_LADDER / peerCores)) };
}

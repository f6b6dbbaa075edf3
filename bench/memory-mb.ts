/**
 * How much memory does the server take when it is idle, and for each stream?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server.ts';
import { createStreams, publishTo } from './support/load.ts';
import { residentBytes } from './support/process-usage.ts';
import { type Answer, atMost } from './support/question.ts';

const MB = 1e6;

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
/** How long an idle server runs before it is measured. It gets no request before. */
const IDLE_MS = 5000;
/** The number of streams, large enough that one-time costs of the first stream (compiled code, a larger heap) do not count. */
const STREAMS = 40;
/** Media is in the default playlist window until one more segment is complete, and is then kept for as long again and a segment. */
const WINDOW_S = 36 + SHAPE.gopS;
const KEPT_S = WINDOW_S + (WINDOW_S + SHAPE.gopS);

/** Answers both questions. `publish-stop-cycles` asks whether memory is lost over time. */
export async function memoryMb(): Promise<readonly Answer[]> {
  await compileOnce();
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await sleep(IDLE_MS);
  const idle = residentBytes(server.pid);
  const streams = await createStreams(server.api, STREAMS);
  const used = residentBytes(server.pid);
  await using _load = await publishTo(server.rtmpPort, streams, SHAPE);
  // Until as much media is removed as is added.
  await sleep((KEPT_S + 20) * 1000);
  const perStream = (residentBytes(server.pid) - used) / STREAMS;
  const limit = 1.15 * (SHAPE.bitrateBps / 8) * KEPT_S + 2 * MB;
  return [
    atMost('resident memory, idle', idle / MB, 115, 'MB'),
    atMost(`resident memory per 3 Mbit/s stream, ${KEPT_S} s kept`, perStream / MB, limit / MB, 'MB'),
  ];
}

/** The first start after an install strips types and compiles, which takes some 50 MB more; later ones find it done. */
async function compileOnce(): Promise<void> {
  await using server = await startServerProcess();
  await server.stop();
}

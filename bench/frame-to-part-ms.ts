/**
 * How long after its last byte was sent can a frame be fetched as part of a part?
 */
import { startServerProcess } from '../test/support/server.ts';
import { broadcast } from './support/broadcast.ts';
import { type Answer, atMost } from './support/question.ts';
import { readParts, renditionUrls } from './support/rendition-reader.ts';
import { readStamps } from './support/stamped-media.ts';
import { percentile } from './support/statistics.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const FRAME_MS = 1000 / SHAPE.fps;
const SECONDS = 20;

/** Answers the question above. */
export async function frameToPartMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using live = await broadcast(server, SHAPE);
  const { video } = await renditionUrls(live.url);

  const delaysMs: number[] = [];
  const framesPerPart: number[] = [];
  for await (const { body, receivedAtMs } of readParts(video, { signal: AbortSignal.timeout(2 * SECONDS * 1000) })) {
    const stamps = readStamps(body);
    framesPerPart.push(stamps.length);
    // The first part does not count, because it is already old when the client first sees it.
    if (framesPerPart.length > 1) delaysMs.push(...stamps.map(({ sentAtMs }) => receivedAtMs - sentAtMs));
    if (delaysMs.length >= SECONDS * SHAPE.fps) break;
  }

  const partMs = Math.max(...framesPerPart) * FRAME_MS;
  const rows = [
    { name: 'p50', delayMs: percentile(delaysMs, 0.5), limitMs: partMs / 2 + FRAME_MS + 30 },
    { name: 'p95', delayMs: percentile(delaysMs, 0.95), limitMs: partMs + FRAME_MS + 40 },
  ];
  return rows.map(({ name, delayMs, limitMs }) =>
    atMost(`frame's last byte sent -> fetchable in a part of ${partMs.toFixed(0)} ms, ${name}`, delayMs, limitMs, 'ms'),
  );
}

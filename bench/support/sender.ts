/**
 * Sends stamped media at real-time pace, over RTMP or bare.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RtmpClient } from '../../test/support/rtmp-client.ts';
import { type MediaShape, StampedMedia, wallMs } from './stamped-media.ts';

/**
 * Publishes on a connection that was accepted, until the signal aborts; then unpublishes and closes.
 * @throws {Error} when the server closes first
 */
export async function sendPaced(
  client: RtmpClient,
  streamKey: string,
  shape: MediaShape,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  const media = new StampedMedia(shape);
  client.tags(media.configurations());
  for await (const frame of paced(shape.fps, signal)) {
    if (client.isClosed) throw new Error(`the server closed: ${JSON.stringify(client.statuses())}`);
    client.tag(media.video(frame));
    client.tags([...media.audioBefore(frame + 1)]);
  }
  client.unpublish(streamKey);
  client.end();
  await client.closed();
}

/** Yields frame numbers from 0, each at its time. Late ones follow at once. */
export async function* paced(fps: number, signal: AbortSignal): AsyncGenerator<number> {
  const startedAtMs = wallMs();
  for (let frame = 0; ; frame += 1) {
    const waitMs = startedAtMs + (frame * 1000) / fps - wallMs();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    yield frame;
  }
}

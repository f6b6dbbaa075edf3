/**
 * Sends media at real-time pace: stamped media, or a clip over and over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RtmpClient } from '../../test/support/rtmp-client.ts';
import type { Clip } from './clip.ts';
import { type MediaShape, StampedMedia, wallMs } from './stamped-media.ts';

/** The end of sending. */
export interface Until {
  readonly signal: AbortSignal;
}

/**
 * Publishes stamped media on a connection that was accepted, until the signal aborts; then unpublishes and closes.
 * @throws {Error} when the server closes first
 */
export async function sendPaced(
  client: RtmpClient,
  streamKey: string,
  shape: MediaShape,
  { signal }: Until,
): Promise<void> {
  const media = new StampedMedia(shape);
  client.tags(media.configurations());
  for await (const frame of paced(shape.fps, signal)) {
    assertOpen(client);
    client.tag(media.video(frame));
    client.tags([...media.audioBefore(frame + 1)]);
  }
  await leave(client, streamKey);
}

/**
 * The same with a clip, over and over.
 * @param options.onStart called when the first keyframe is about to be sent: {@link wallMs}
 */
export async function replay(
  client: RtmpClient,
  streamKey: string,
  clip: Clip,
  { signal, onStart }: Until & { readonly onStart?: (atMs: number) => void },
): Promise<void> {
  client.tags(clip.head);
  const startedAtMs = wallMs();
  onStart?.(startedAtMs);
  for (let shiftMs = 0; !signal.aborted; shiftMs += clip.lengthMs) {
    for (const tag of clip.tags) {
      await until(startedAtMs + shiftMs + tag.timestamp, signal);
      if (signal.aborted) break;
      assertOpen(client);
      client.tag(tag, shiftMs);
    }
  }
  await leave(client, streamKey);
}

/** Yields frame numbers from 0, each at its time. Late ones follow at once. */
export async function* paced(fps: number, signal: AbortSignal): AsyncGenerator<number> {
  const startedAtMs = wallMs();
  for (let frame = 0; ; frame += 1) {
    await until(startedAtMs + (frame * 1000) / fps, signal);
    if (signal.aborted) return;
    yield frame;
  }
}

async function until(atMs: number, signal: AbortSignal): Promise<void> {
  const waitMs = atMs - wallMs();
  if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {});
}

function assertOpen(client: RtmpClient): void {
  if (client.isClosed) throw new Error(`the server closed: ${JSON.stringify(client.statuses())}`);
}

async function leave(client: RtmpClient, streamKey: string): Promise<void> {
  client.unpublish(streamKey);
  client.end();
  await client.closed();
}

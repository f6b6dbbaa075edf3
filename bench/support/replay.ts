/**
 * Sends a clip at real-time pace, over and over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RtmpClient } from '../../test/support/rtmp-client.ts';
import type { Clip } from './clip.ts';
import { wallMs } from './stamped-media.ts';

/**
 * Publishes on a connection that was accepted, until the signal aborts; then unpublishes and closes.
 * @param options.onStart called when the first keyframe is about to be sent: {@link wallMs}
 * @throws {Error} when the server closes first
 */
export async function replay(
  client: RtmpClient,
  streamKey: string,
  clip: Clip,
  { signal, onStart }: { readonly signal: AbortSignal; readonly onStart?: (atMs: number) => void },
): Promise<void> {
  client.tags(clip.head);
  const startedAtMs = wallMs();
  onStart?.(startedAtMs);
  for (let shiftMs = 0; !signal.aborted; shiftMs += clip.lengthMs) {
    for (const tag of clip.tags) {
      const waitMs = startedAtMs + shiftMs + tag.timestamp - wallMs();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      if (client.isClosed) throw new Error(`the server closed: ${JSON.stringify(client.statuses())}`);
      client.tag(tag, shiftMs);
    }
  }
  client.unpublish(streamKey);
  client.end();
  await client.closed();
}

/**
 * A live stream of stamped media, for benches that ask what its viewers get.
 */
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import type { TestServer } from '../../test/support/server.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { sendPaced } from './sender.ts';
import type { MediaShape } from './stamped-media.ts';

/** A running broadcast. Disposing it unpublishes. */
export interface Broadcast extends AsyncDisposable {
  readonly playbackId: string;
  /** The address of its multivariant playlist. */
  readonly url: string;
}

/**
 * Publishes to a new stream at real-time pace, and waits until the stream is live.
 * @param options.playbackPolicy who may watch: everybody by default
 * @param options.from the loopback address of the publisher
 */
export async function broadcast(
  server: TestServer,
  shape: MediaShape,
  { playbackPolicy, from = '127.0.0.1' }: { readonly playbackPolicy?: object; readonly from?: string } = {},
): Promise<Broadcast> {
  const { streamKey, playbackId } = await server.api.createStream(playbackPolicy && { playbackPolicy });
  const client = await RtmpClient.publish(server.rtmpPort, streamKey, 'live', { from });
  const stop = new AbortController();
  const sending = sendPaced(client, streamKey, shape, stop);
  const url = server.playlistUrl(playbackId);
  // 404 until the publisher's first packet has made a session. From then on the answer is held.
  const expected = playbackPolicy === undefined ? 200 : 401;
  await waitFor(async () => (await fetch(url)).status === expected, { what: 'the stream to go live' });
  return {
    playbackId,
    url,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sending.catch(() => {}); // an attacked server may have closed
      await client[Symbol.asyncDispose]();
    },
  };
}

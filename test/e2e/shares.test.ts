/**
 * How the service limits what one user may use of a server. A publisher beyond a limit is told the reason, and other users are not affected.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiClient, CreatedStream } from '../support/api-client.ts';
import { newCustomer } from '../support/customer.ts';
import { type FlvFileTag, fixtureTags } from '../support/flv-file.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { get } from './viewer.ts';

/** The limit of the bitrate. The fixture's two seconds are 24 kB, so about ten times as many bytes are ten seconds of media at this limit. */
const BITRATE_KBPS = 200;
const FIXTURE_MS = 2000;

let server: TestServer;
before(async () => {
  server = await startServer({
    settings: {
      MILLRACE_QUOTA_PUBLISHERS: '2',
      MILLRACE_QUOTA_INGEST_BITRATE_KBPS: String(BITRATE_KBPS),
    },
  });
});
after(() => server[Symbol.asyncDispose]());

const newStream = (api: ApiClient): Promise<CreatedStream> => api.createStream({ name: 'a stream', profiles: [] });

const endReasonOf = async (api: ApiClient, { id }: CreatedStream): Promise<string | undefined> => {
  const response = await api.request('GET', `/stream/${id}/sessions`);
  const [session] = (await response.json()) as { endReason?: string }[];
  return session?.endReason;
};

/** The fixture's tags several times over, each time with later timestamps. */
function* repeated(times: number): Iterable<FlvFileTag> {
  for (let time = 0; time < times; time++) {
    for (const tag of fixtureTags()) yield { ...tag, timestamp: tag.timestamp + time * FIXTURE_MS };
  }
}

test('a publisher above the bitrate of its user is disconnected with the reason, which its session has, too', async () => {
  const [fast, other] = [await newCustomer(server, 'fast'), await newCustomer(server, 'other')];
  const [fastStream, otherStream] = [await newStream(fast), await newStream(other)];
  await using undisturbed = await RtmpClient.publish(server.rtmpPort, otherStream.streamKey);
  undisturbed.tags(fixtureTags());
  await using client = await RtmpClient.publish(server.rtmpPort, fastStream.streamKey);
  client.tags(fixtureTags());
  const isWatched = async () => (await get(server.playlistUrl(fastStream.playbackId))).status === 200;
  await waitFor(isWatched, { what: 'the stream to be watched' });
  client.tags([...repeated(40)].map((tag) => ({ ...tag, timestamp: tag.timestamp + FIXTURE_MS })));
  await client.closed();
  assert.match(client.statuses().at(-1)!.description, /bitrate is higher than this account may send/);
  await waitFor(async () => (await endReasonOf(fast, fastStream)) === 'ingest_bitrate_exceeded', {
    what: 'the session to have ended for its bitrate',
  });
  assert.equal(undisturbed.isClosed, false);
});

test('a user at its quota of publishers is refused another one, and other users are not', async () => {
  const user = await newCustomer(server, 'many');
  const streams = await Promise.all([1, 2, 3].map(() => newStream(user)));
  await using parts = new AsyncDisposableStack();
  for (const { streamKey } of streams.slice(0, 2)) parts.use(await RtmpClient.publish(server.rtmpPort, streamKey));
  await assert.rejects(RtmpClient.publish(server.rtmpPort, streams[2]!.streamKey), (error) => {
    assert.ok(error instanceof RtmpRefusedError);
    assert.match(error.status.description, /already has 2 publishers, and may have 2/);
    return true;
  });
  parts.use(
    await RtmpClient.publish(server.rtmpPort, (await newStream(await newCustomer(server, 'another'))).streamKey),
  );
  for (let count = 0; count < 4; count++) {
    parts.use(await RtmpClient.publish(server.rtmpPort, (await newStream(server.api)).streamKey));
  }
});

/**
 * Changes of a stream while it is live take effect on its broadcast, on one server.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ApiClient, type StreamObject } from '../support/api-client.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { assertCut, broadcast, CUTS } from './cuts.ts';
import { get } from './viewer.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server[Symbol.asyncDispose]());

describe('a live stream', () => {
  for (const cut of CUTS) {
    test(`loses its publisher at once, with the reason, when it is ${cut.what}`, () => assertCut(cut, server, server));
  }

  test('that was suspended plays again once it is resumed and published anew', async () => {
    await using live = await broadcast(server, server);
    const suspend = (suspended: boolean) =>
      server.api.request('PATCH', `/stream/${live.stream.id}/suspended`, { suspended });
    assert.equal((await suspend(true)).status, 204);
    await live.client.closed();
    assert.equal((await suspend(false)).status, 204);
    await using again = await RtmpClient.publish(server.rtmpPort, live.stream.streamKey);
    again.tags(fixtureTags());
    const isWatched = async () => (await get(server.playlistUrl(live.stream.playbackId))).status === 200;
    await waitFor(isWatched, { what: 'the stream to be watched again' });
    assert.equal((await get(live.playlistUrl)).status, 404, 'what was sent before stays out of reach');
  });

  test('goes on under its new name, and so does its session', async () => {
    await using live = await broadcast(server, server);
    const { stream, client } = live;
    assert.equal((await server.api.request('PATCH', `/stream/${stream.id}`, { name: 'renamed' })).status, 204);
    const session = await waitFor(async () => (await sessionsOf(stream)).find(({ name }) => name === 'renamed'), {
      what: 'the session to be renamed',
    });
    assert.equal(session.isActive, true);
    assert.equal(client.isClosed, false);
  });

  test('loses its publisher when its user is suspended, and refuses it until the user may go on', async () => {
    const created = await server.api.request('POST', '/user', { name: 'somebody' });
    assert.equal(created.status, 201, await created.clone().text());
    const user = (await created.json()) as { id: string };
    const token = await server.api.request('POST', '/api-token', { name: 'key', userId: user.id });
    assert.equal(token.status, 201, await token.clone().text());
    const theirs = new ApiClient(`${server.url}/api`, ((await token.json()) as { key: string }).key);
    const stream = await theirs.createStream({ name: 'theirs' });
    await using client = await RtmpClient.publish(server.rtmpPort, stream.streamKey);
    client.tags(fixtureTags());
    await waitFor(async () => (await theirs.getStream(stream.id)).isActive, { what: 'the stream to be active' });
    const suspended = await server.api.request('PATCH', `/user/${user.id}`, { suspended: true });
    assert.ok(suspended.ok, await suspended.text());
    await client.closed();
    await assert.rejects(RtmpClient.publish(server.rtmpPort, stream.streamKey), RtmpRefusedError);
  });

  test('shows the received media and the number of viewers', async () => {
    await using live = await broadcast(server, server);
    // A session is listed once it is stored. Its media does not wait for that.
    const session = await waitFor(async () => (await sessionsOf(live.stream))[0], { what: 'the session to be stored' });
    const sizeBytes = fixtureTags().reduce((sum, { type, body }) => sum + (type === 18 ? 0 : body.length), 0);
    // The headers of tags and the codec configurations do not count as media.
    assert.ok(session.sourceBytes! > sizeBytes * 0.9 && session.sourceBytes! <= sizeBytes, `${session.sourceBytes}`);
    assert.ok(session.sourceSegments! >= 1);
    // Viewers who ask for nothing are forgotten after a while, so both ask again until they are counted together.
    const areCounted = async () => {
      for (const agent of ['one', 'another']) await get(live.playlistUrl, { headers: { 'user-agent': agent } });
      const views = await server.api.request('GET', `/data/views/now?playbackId=${live.stream.playbackId}`);
      const [{ viewCount } = { viewCount: 0 }] = (await views.json()) as { viewCount: number }[];
      // The first request of the broadcast came from a third viewer.
      return viewCount === 2 || viewCount === 3;
    };
    await waitFor(areCounted, { what: 'both viewers to be counted' });
  });
});

type SessionObject = StreamObject & { readonly sourceBytes?: number; readonly sourceSegments?: number };

async function sessionsOf({ id }: { readonly id: string }): Promise<readonly SessionObject[]> {
  const response = await server.api.request('GET', `/stream/${id}/sessions`);
  assert.equal(response.status, 200);
  return (await response.json()) as SessionObject[];
}

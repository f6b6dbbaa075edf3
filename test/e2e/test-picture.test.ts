/**
 * The test picture: a stream is live without any encoder, and makes room for one.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { newCustomer } from '../support/customer.ts';
import { startPublisher } from '../support/publisher.ts';
import { CHEAP, startServerProcess, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

/** Starts a test picture as an admin. */
const start = (server: TestServer, id: string) => server.api.request('POST', `/stream/${id}/test-picture?all=1`);

suite('the test picture', () => {
  test('can be watched, says what it is, makes room for an encoder, and stops when asked', async (t) => {
    await using server = await startServerProcess({ settings: CHEAP });
    const profile = { name: 'small', bitrate: 300_000, fps: 0, width: 320, height: 180 };
    const stream = await server.api.createStream({ name: 'first', profiles: [profile] });
    const read = () => server.api.getStream(stream.id);
    const encoder = async () => (await read()).health?.encoder;
    const askedAt = performance.now();
    const started = await start(server, stream.id);
    assert.equal(started.status, 200, await started.clone().text());
    assert.ok(((await started.json()) as { until: number }).until > stream.createdAt + 55_000);
    await waitFor(async () => (await fetch(server.playlistUrl(stream.playbackId))).ok, { what: 'something to watch' });
    t.diagnostic(`live after ${Math.round(performance.now() - askedAt)} ms`);
    assert.equal(await encoder(), 'Millrace test picture');
    const { source } = (await read()).health!;
    assert.deepEqual([source.video?.width, source.video?.height, source.audio?.channels], [1280, 720, 2]);
    assert.equal((await start(server, stream.id)).status, 200, 'a repeat lets it go on');
    // On a busy machine the rendition may be paused, or begin after more than the minute of a test picture, so each attempt extends it.
    const isTranscoded = async () => {
      await start(server, stream.id);
      return ['running', 'shed'].includes((await read()).health?.renditions[0]?.state ?? '');
    };
    await waitFor(isTranscoded, { what: 'the rendition', timeoutMs: 180_000 });

    await using publisher = await startPublisher({ url: server.rtmpUrl(stream.streamKey) });
    await waitFor(async () => (await encoder())?.startsWith('Lavf') === true, { what: 'the encoder' });
    assert.equal((await start(server, stream.id)).status, 409);
    await publisher.stop();
    await waitFor(async () => !(await read()).isActive, { what: 'the end of the encoder' });

    await start(server, stream.id);
    await waitFor(async () => (await read()).isActive, { what: 'another picture' });
    const stopped = await server.api.request('DELETE', `/stream/${stream.id}/test-picture`);
    assert.equal(stopped.status, 204);
    await waitFor(async () => !(await read()).isActive, { what: 'the end' });
    await start(server, stream.id);
    assert.equal(await server.stop(), 0, 'a server that stops ends its pictures');
  });

  test('is for those who may publish, and a server publishes only a few, each of another user', async () => {
    await using server = await startServerProcess({ settings: CHEAP });
    const customers = [server.api];
    for (const name of ['ann', 'bob', 'cleo', 'dan']) customers.push(await newCustomer(server, name));
    const streams = await Promise.all(customers.map((api) => api.createStream({ name: 'a stream', profiles: [] })));
    const another = await server.api.createStream({ name: 'another', profiles: [] });
    const statuses: number[] = [];
    for (const { id } of streams) statuses.push((await start(server, id)).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 503]);
    assert.equal((await start(server, another.id)).status, 409);
    await server.api.request('PATCH', `/stream/${streams[0]!.id}`, { suspended: true });
    await waitFor(async () => (await start(server, streams[4]!.id)).status === 200, {
      what: 'a place that is free again',
    });
    assert.equal((await start(server, streams[0]!.id)).status, 503);
  });
});

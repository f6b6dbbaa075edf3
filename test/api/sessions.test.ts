import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionHealth } from '#domain/health.ts';
import type { StreamId } from '#domain/ids.ts';
import { NO_TOTALS, type Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import { someSession } from '#test/support/sample-records.ts';
import { someStatus } from './live-status.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

const create = async (api: TestApi, key: TestKey, body: object = { name: 'x' }) =>
  (await api.call('POST', '/stream', { key, body })).json();

/** Stores a session of a stream. */
async function publish(api: TestApi, streamId: string, change: Partial<Session> = {}): Promise<Session> {
  const session = someSession((await api.store.streams.get(streamId as StreamId, 'everyone'))!, change);
  await api.store.sessions.create(session);
  return session;
}

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

test('an ended session has the time and reason of its end, and its totals', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const stream = await create(api, key, { name: 'x', profiles: [] });
  const session = await publish(api, stream.id, {
    phase: 'ended',
    createdAt: ms(10_000),
    lastSeen: ms(72_400),
    endedAt: ms(72_500),
    endReason: 'unpublished',
    codecs: 'avc1.64001f,mp4a.40.2',
    record: true,
    totals: {
      sourceBytes: 1000,
      sourceSegments: 30,
      sourceSegmentsDuration: 62.400_000_000_1,
      transcodedBytes: 500,
      transcodedSegments: 29,
      transcodedSegmentsDuration: 60,
      peakViewers: 7,
    },
  });
  const response = await api.call('GET', `/session/${session.id}`, { key });
  assert.equal(response.statusCode, 200);
  assert.deepEqual(response.json(), {
    id: session.id,
    kind: 'session',
    parentId: stream.id,
    playbackId: stream.playbackId,
    name: 'x',
    userId: key.userId,
    createdAt: 10_000,
    lastSeen: 72_400,
    phase: 'ended',
    isActive: false,
    endedAt: 72_500,
    endReason: 'unpublished',
    duration: 62.5,
    codecs: ['avc1.64001f', 'mp4a.40.2'],
    profiles: [],
    record: true,
    recordingStatus: 'none',
    sourceBytes: 1000,
    sourceSegments: 30,
    sourceSegmentsDuration: 62.4,
    transcodedBytes: 500,
    transcodedSegments: 29,
    transcodedSegmentsDuration: 60,
    viewers: 0,
    peakViewers: 7,
    isHealthy: null,
    issues: null,
  });
});

const rates = { framesPerSecond: 30, bitrateBps: 800_000 };
const HEALTH: SessionHealth = {
  encoder: 'Lavf61',
  source: {
    video: { codec: 'avc1.64001f', width: 1280, height: 720, rates, keyframeIntervalS: 2 },
    audio: undefined,
  },
  ladder: { renditions: [], leftOut: [], transcoder: undefined },
  hasThumbnail: false,
  warnings: [],
};

test('a session that ended after the clock was set back has a duration of 0, and not a negative one', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const stream = await create(api, key);
  const { id } = await publish(api, stream.id, { phase: 'ended', createdAt: ms(60_000), endedAt: ms(1000) });
  assert.equal((await api.call('GET', `/session/${id}`, { key })).json().duration, 0);
});

test('a session on this node is shown from memory, and one on another node as it was stored', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, playbackId } = await create(api, key);
  const session = await publish(api, id, {
    phase: 'live',
    createdAt: ms(10_000),
    lastSeen: ms(12_000),
    viewers: 4,
    totals: { ...NO_TOTALS, sourceBytes: 100, peakViewers: 5 },
    health: HEALTH,
  });
  await api.store.streams.setActivity(id, {
    isActive: true,
    lastSeen: ms(12_000),
    health: HEALTH,
  });
  const read = async () => {
    const shown = (await api.call('GET', `/session/${session.id}`, { key })).json();
    const views = (await api.call('GET', `/data/views/now?playbackId=${playbackId}`, { key })).json();
    return { ...shown, viewCount: views[0].viewCount };
  };
  const there = await read();
  assert.deepEqual(
    [there.isActive, there.sourceBytes, there.viewers, there.peakViewers, there.viewCount, there.duration],
    [true, 100, 4, 5, 4, 2],
  );
  assert.deepEqual([there.isHealthy, there.ingestRate, there.outgoingRate], [true, 100_000, 0]);
  assert.equal(there.health.encoder, 'Lavf61');
  for (const path of [`/stream/${id}`, `/stream/${session.id}`]) {
    const stream = (await api.call('GET', path, { key })).json();
    assert.deepEqual([stream.isActive, stream.health.encoder], [true, 'Lavf61'], 'the stream tells the same');
  }
  const status = someStatus({
    phase: 'reconnecting',
    isActive: false,
    lastSeen: ms(13_000),
    totals: { ...NO_TOTALS, sourceBytes: 200, peakViewers: 6 },
    viewers: 3,
  });
  api.statuses.set(session.id, status);
  api.statuses.set(id, status);
  api.viewers.set(playbackId, 3);
  const here = await read();
  assert.deepEqual(
    [here.phase, here.isActive, here.lastSeen, here.sourceBytes, here.viewers, here.peakViewers, here.viewCount],
    ['reconnecting', false, 13_000, 200, 3, 6, 3],
  );
  assert.deepEqual([here.isHealthy, here.health], [null, undefined], 'no media is coming in');
});

test('sessions are listed for all streams or one, filtered, ordered, counted and page by page', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const [one, two] = [await create(api, key), await create(api, key)];
  const a = await publish(api, one.id, { createdAt: ms(1), lastSeen: ms(90), record: true, phase: 'ended' });
  const b = await publish(api, two.id, { createdAt: ms(2), lastSeen: ms(80) });
  const c = await publish(api, one.id, { createdAt: ms(3), lastSeen: ms(70), phase: 'ended' });
  const list = async (path: string) => idsOf((await api.call('GET', path, { key })).json());
  assert.deepEqual(await list('/session'), idsOf([c, b, a]));
  assert.deepEqual(await list('/session?order=lastSeen-true'), idsOf([a, b, c]));
  assert.deepEqual(await list(`/session?parentId=${one.id}`), idsOf([c, a]));
  assert.deepEqual(await list(`/stream/${one.id}/sessions`), idsOf([c, a]));
  assert.deepEqual(await list(`/stream/${one.id}/sessions?record=true`), idsOf([a]));
  assert.deepEqual(await list(`/stream/${one.id}/sessions?record=0`), idsOf([c]));
  const filters = encodeURIComponent(JSON.stringify([{ id: 'record', value: true }]));
  assert.deepEqual(await list(`/session?filters=${filters}`), idsOf([a]));

  const first = await api.call('GET', `/stream/${one.id}/sessions?limit=1&count=1`, { key });
  assert.equal(first.headers['x-total-count'], '2');
  const next = /<http:\/\/[^/]+\/api(.*)>; rel="next"/.exec(String(first.headers.link))![1]!;
  assert.deepEqual([idsOf(first.json()), await list(next)], [idsOf([c]), idsOf([a])]);

  for (const path of [
    '/session?parentId=x',
    `/stream/${one.id}/sessions?record=2`,
    `/stream/${one.id}/sessions?filters=${encodeURIComponent(JSON.stringify([{ id: 'parentId', value: two.id }]))}`,
  ]) {
    assert.equal((await api.call('GET', path, { key })).statusCode, 400, path);
  }
});

test('sessions and viewers are shown to their owner, and to an admin who asks for them', async (t) => {
  const api = await startApi(t);
  const [ann, bob, admin] = [await api.makeKey('ann'), await api.makeKey('bob'), await api.makeKey('admin')];
  const { id, playbackId } = await create(api, ann);
  const session = await publish(api, id);
  const paths = [`/session/${session.id}`, `/stream/${id}/sessions`, `/data/views/now?playbackId=${playbackId}`];
  for (const path of paths) {
    assert.equal((await api.call('GET', path, { key: ann })).statusCode, 200, path);
    const everybodys = `${path}${path.includes('?') ? '&' : '?'}all=1`;
    assert.equal((await api.call('GET', everybodys, { key: admin })).statusCode, 200, everybodys);
    for (const key of [bob, admin]) assert.equal((await api.call('GET', path, { key })).statusCode, 404, path);
  }
  assert.deepEqual((await api.call('GET', `/session?parentId=${id}`, { key: bob })).json(), []);
  assert.deepEqual((await api.call('GET', '/session', { key: admin })).json(), []);
  assert.deepEqual(idsOf((await api.call('GET', '/session?all=true', { key: admin })).json()), [session.id]);
});

test('a stream that was never live has no viewers, and viewers are counted by playback id only', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { playbackId } = await create(api, key);
  const views = (query: string) => api.call('GET', `/data/views/now?${query}`, { key });
  assert.deepEqual((await views(`playbackId=${playbackId}`)).json(), [{ playbackId, viewCount: 0, errorRate: 0 }]);
  assert.equal((await views('')).statusCode, 400);
  assert.equal((await views('playbackId=x')).statusCode, 404);
  assert.equal((await views(`playbackId=${playbackId}&breakdownBy=country`)).statusCode, 501);
});

test('info shows what an id, stream key or playback id stands for', async (t) => {
  const api = await startApi(t);
  const [key, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const stream = await create(api, key);
  const info = async (name: string) => {
    const { stream: found, session, ...flags } = (await api.call('GET', `/stream/${name}/info`, { key })).json();
    assert.deepEqual(found, stream);
    return { session: session?.id ?? null, ...flags };
  };
  const by = { isPlaybackid: false, isSession: false, isStreamKey: false };
  assert.deepEqual(await info(stream.id), { session: null, ...by });
  const older = await publish(api, stream.id, { createdAt: ms(1) });
  const newest = await publish(api, stream.id, { createdAt: ms(2) });
  assert.deepEqual(await info(stream.id), { session: newest.id, ...by });
  assert.deepEqual(await info(older.id), { session: older.id, ...by, isSession: true });
  assert.deepEqual(await info(stream.streamKey), { session: newest.id, ...by, isStreamKey: true });
  assert.deepEqual(await info(stream.playbackId), { session: newest.id, ...by, isPlaybackid: true });
  for (const name of [stream.id, older.id, stream.streamKey, stream.playbackId]) {
    assert.equal((await api.call('GET', `/stream/${name}/info`, { key: bob })).statusCode, 404);
  }
  assert.equal((await api.call('GET', '/stream/nothing/info', { key })).statusCode, 404);
});

test('wrong stream keys are throttled on every route, together with those of publishers', async (t) => {
  const api = await startApi(t, { MILLRACE_WRONG_KEYS_PER_MINUTE: '3' });
  const [key, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const { id, streamKey } = await create(api, key);
  const remoteAddress = '198.51.100.7';
  const ask = (path: string, by = key) => api.call('GET', path, { key: by, remoteAddress });
  assert.equal((await ask('/stream/key/0000-0000-0000-0000')).statusCode, 404);
  assert.equal((await ask('/stream/0000-0000-0000-0001/info')).statusCode, 404);
  assert.equal((await ask(`/stream/key/${streamKey}`, bob)).statusCode, 404, "somebody else's is a guess");
  const refused = await ask(`/stream/key/${streamKey}`);
  assert.equal(refused.statusCode, 429, 'a right guess shows nothing');
  assert.equal(refused.json().code, 'too_many_attempts');
  assert.equal(refused.headers['retry-after'], '20');
  assert.equal((await ask(`/stream/${id}`)).statusCode, 200, 'an API key in use goes on working');
  api.time.monotonic += 20_000;
  assert.equal((await ask(`/stream/key/${streamKey}`)).json().id, id);
});

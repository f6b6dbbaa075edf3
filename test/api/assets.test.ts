/**
 * Tests recordings, clips and tasks in the API.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AssetExtent } from '#domain/asset.ts';
import { type AssetId, newClipId, type StreamId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import { indexOfSegments } from '#test/support/recording-index.ts';
import { SOME_EXTENT, someReceipt, someSession } from '#test/support/sample-records.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** Wall-clock times of the media of {@link RECORDED}. */
const FROM = 1_795_175_100_000;
const UNTIL = 1_795_175_107_000;
const RECORDED: AssetExtent = {
  ...SOME_EXTENT,
  durationS: 7,
  sizeBytes: 3_000_000,
  fromMs: ms(FROM),
  untilMs: ms(UNTIL),
};

interface Shown {
  readonly id: string;
  readonly playbackId: string;
  readonly name: string;
  readonly status: { readonly phase: string; readonly updatedAt?: number; readonly errorMessage?: string };
  readonly source: { readonly type: string };
  readonly playbackUrl?: string;
  readonly downloadUrl?: string;
}

/** A user with a stream that is live and recorded. */
async function live(t: TestContext, environment: Record<string, string> = {}) {
  const api = await startApi(t, environment);
  const key = await api.makeKey('ann');
  const session = await recordedSession(api, key);
  return { api, key, session, ...clientOf(api, key) };
}

async function recordedSession(api: TestApi, key: TestKey, change: Partial<Session> = {}): Promise<Session> {
  const { id } = (
    await api.call('POST', '/stream', { key, body: { name: 'the show', record: true, profiles: [] } })
  ).json();
  const stream = (await api.store.streams.get(id as StreamId, 'everyone'))!;
  const session = someSession(stream, { phase: 'live', createdAt: ms(FROM), ...change });
  await api.store.sessions.create(session);
  api.extents.set(session.recordingPath!, RECORDED);
  return session;
}

function clientOf(api: TestApi, key: TestKey) {
  const get = async <Body = Shown>(path: string, status = 200): Promise<Body> => {
    const response = await api.call('GET', path, { key });
    assert.equal(response.statusCode, status, response.body);
    return response.json();
  };
  const clip = async (
    body: object,
    status = 200,
  ): Promise<{ task: { id: string }; asset: Shown; code?: string; errors: string[] }> => {
    const response = await api.call('POST', '/clip', { key, body });
    assert.equal(response.statusCode, status, response.body);
    return response.json();
  };
  return { get, clip };
}

const end = async (api: TestApi, session: Session) => {
  const ended = { phase: 'ended', endedAt: ms(UNTIL + 100), endReason: 'unpublished' } as const;
  await api.store.sessions.change(session.id, ended);
  api.extents.delete(session.recordingPath!);
  await api.store.assets.finish(session.id as string as AssetId, RECORDED, ms(UNTIL + 200));
};

test('a recording is an asset of the same id and URLs while it runs and afterwards', async (t) => {
  const { api, session, get } = await live(t);
  const base = `http://localhost:80/recordings/${session.recordingPath}`;
  const running = await get(`/asset/${session.id}`);
  assert.deepEqual(running, {
    id: session.id,
    playbackId: running.playbackId,
    userId: session.userId,
    name: 'the show',
    createdAt: FROM,
    type: 'video',
    size: 3_000_000,
    source: { type: 'recording', sessionId: session.id },
    status: { phase: 'waiting', updatedAt: FROM },
    playbackUrl: `${base}/index.m3u8`,
    downloadUrl: `${base}/source.mp4`,
    startTime: FROM,
    endTime: UNTIL,
    videoSpec: {
      format: 'mp4',
      duration: 7,
      bitrate: 3_128_000,
      tracks: [
        { type: 'video', codec: 'h264', bitrate: 3_000_000, width: 1280, height: 720, fps: 29.97 },
        { type: 'audio', codec: 'aac', bitrate: 128_000, channels: 2, sampleRate: 48_000 },
      ],
    },
  });
  await end(api, session);
  assert.deepEqual(await get(`/asset/${session.id}`), {
    ...running,
    status: { phase: 'ready', updatedAt: UNTIL + 200 },
  });
});

test('what a user has in use counts clips, recordings, and what clips keep of deleted recordings', async (t) => {
  const { api, session, get, clip } = await live(t);
  const used = async () => (await get<{ usage: Record<string, number> }>('/user/me')).usage;
  const gib = (bytes: number) => Math.round((bytes / 2 ** 30) * 1000) / 1000;
  const large = { ...RECORDED, sizeBytes: 5 * 2 ** 30 };
  api.extents.set(session.recordingPath!, large);
  await api.store.assets.progress(session.id as string as AssetId, large);
  const { asset } = await clip({ playbackId: session.playbackId, startTime: FROM, endTime: FROM + 2000 });
  assert.deepEqual([(await used()).clips, (await used()).recordingGib], [1, 5]);
  await end(api, session);
  await api.store.assets.delete(session.id as string as AssetId, session.userId, someReceipt());
  assert.deepEqual(
    [(await used()).clips, (await used()).recordingGib],
    [1, gib((asset as unknown as { size: number }).size)],
  );
});

test('a recording of which nothing is known yet, or of audio only, has the URLs it will have', async (t) => {
  const { api, session, get } = await live(t);
  api.extents.delete(session.recordingPath!);
  const unknown = await get<Record<string, unknown>>(`/asset/${session.id}`);
  assert.match(String(unknown.downloadUrl), /\/source\.mp4$/);
  assert.deepEqual([unknown.size, unknown.videoSpec, unknown.startTime], [undefined, undefined, undefined]);
  api.extents.set(session.recordingPath!, {
    ...RECORDED,
    tracks: RECORDED.tracks.filter(({ kind }) => kind === 'audio'),
  });
  const audio = await get<Record<string, unknown>>(`/asset/${session.id}`);
  assert.equal(audio.type, 'audio');
  assert.match(String(audio.downloadUrl), /\/audio\.m4a$/);
});

test('a session shows its recording and where it is, and one that is not recorded does not', async (t) => {
  const { api, key, session, get } = await live(t);
  const base = `http://localhost:80/recordings/${session.recordingPath}`;
  const shown = async () => {
    const one = await get<Record<string, unknown>>(`/session/${session.id}`);
    const [listed] = await get<Record<string, unknown>[]>('/session?record=1');
    const { session: info } = await get<{ session: Record<string, unknown> }>(`/stream/${session.streamId}/info`);
    assert.deepEqual(one, listed);
    assert.deepEqual(one, info);
    return [one.recordingStatus, one.assetId, one.recordingUrl, one.mp4Url];
  };
  const urls = [session.id, `${base}/index.m3u8`, `${base}/source.mp4`];
  assert.deepEqual(await shown(), ['waiting', ...urls]);
  await api.store.sessions.change(session.id, { phase: 'ended', endedAt: ms(UNTIL), endReason: 'unpublished' });
  assert.deepEqual(await shown(), ['waiting', ...urls]);
  await end(api, session);
  assert.deepEqual(await shown(), ['ready', ...urls]);
  assert.equal((await api.call('DELETE', `/asset/${session.id}`, { key })).statusCode, 204);
  const nothing = [undefined, undefined, undefined];
  assert.deepEqual(await shown(), ['deleted', ...nothing]);
  while ((await api.store.assets.getMany([session.id as string as AssetId], 'all')).length > 0) {
    await api.store.assets.deleted(session.id as string as AssetId);
    await api.store.assets.forget(ms(Number.MAX_SAFE_INTEGER), 10);
  }
  assert.deepEqual(await shown(), ['deleted', ...nothing]);

  const failed = await recordedSession(api, key);
  await api.store.assets.fail(failed.id as string as AssetId, 'The disk was lost.', ms(UNTIL));
  assert.equal((await get<{ recordingStatus: string }>(`/session/${failed.id}`)).recordingStatus, 'failed');
  const asset = await get(`/asset/${failed.id}`);
  assert.deepEqual([asset.status.phase, asset.status.errorMessage], ['failed', 'The disk was lost.']);
  assert.equal(asset.playbackUrl, undefined);
  const old = await recordedSession(api, key, { recordingPath: undefined });
  assert.equal((await get<{ recordingStatus: string }>(`/session/${old.id}`)).recordingStatus, 'none');
  const plain = await recordedSession(api, key, { record: false, recordingPath: undefined });
  assert.equal('recordingStatus' in (await get<object>(`/session/${plain.id}`)), false);
});

test('a clip of a live stream is ready at once, and is found by its recording, session, stream and task', async (t) => {
  const { session, get, clip } = await live(t);
  const { playbackId } = session;
  const { task, asset } = await clip({ playbackId, startTime: FROM + 1000, endTime: FROM + 3500, name: 'the goal' });
  assert.equal(task.id, asset.id);
  assert.notEqual(asset.playbackId, playbackId);
  assert.deepEqual(await get(`/asset/${asset.id}`), asset);
  const { size, videoSpec, startTime, endTime, source, status, name } = asset as Shown & Record<string, unknown>;
  assert.deepEqual(source, {
    type: 'clip',
    sessionId: session.id,
    assetId: session.id,
    requesterId: session.userId,
    playbackId,
  });
  assert.deepEqual(
    [name, status.phase, startTime, endTime, size],
    ['the goal', 'ready', FROM + 1000, FROM + 3500, 977_500],
  );
  assert.equal((videoSpec as { duration: number }).duration, 2.5);
  assert.match(asset.playbackUrl ?? '', /^http:\/\/localhost:80\/recordings\/[0-9a-z]{16}\/index\.m3u8$/);
  assert.ok(!asset.playbackUrl?.includes(session.recordingPath!), 'a clip has a path of its own');
  const recording = await get(`/asset/${session.id}`);
  for (const path of [
    `/asset/${session.id}/clips`,
    `/session/${session.id}/clips`,
    `/stream/${session.streamId}/clips`,
    `/stream/${playbackId}/clips`,
    ...[session.id, session.streamId, playbackId].map((id) => `/clip/${id}`),
  ]) {
    assert.deepEqual(await get<Shown[]>(path), [asset], path);
    const filter = (id: string, value: string) =>
      `${path}?filters=${encodeURIComponent(JSON.stringify([{ id, value }]))}`;
    for (const [id, value] of [
      ['sourceType', 'clip'],
      ['sourceSessionId', session.id],
      ['sourceAssetId', session.id],
      ['sourcePlaybackId', playbackId],
    ] as const) {
      assert.deepEqual(await get<Shown[]>(filter(id, value)), [asset], filter(id, value));
    }
    await get(filter('sourceType', 'recording'), 400);
  }
  const again = encodeURIComponent(JSON.stringify([{ id: 'sourceAssetId', value: session.id }]));
  assert.deepEqual(await get<Shown[]>(`/stream/${playbackId}/clips?filters=${again}`), [asset]);
  const made = { id: asset.id, type: 'clip', inputAssetId: session.id, outputAssetId: asset.id };
  const found = await get<Record<string, unknown>>(`/task/${asset.id}`);
  assert.deepEqual({ ...found, ...made }, found);
  assert.deepEqual(found.status, { phase: 'completed', updatedAt: found.createdAt, progress: 1 });
  assert.deepEqual(await get<object[]>('/task'), [found]);
  const clips = encodeURIComponent(JSON.stringify([{ id: 'sourceType', value: 'clip' }]));
  assert.deepEqual(await get<object[]>(`/task?filters=${clips}`), [found]);
  await get(`/task/${session.id}`, 404);
  assert.deepEqual(await get<Shown[]>('/asset?count=1'), [asset, recording]);
});

test('clips are made of recordings and of clips, within what those show', async (t) => {
  const { api, session, get, clip } = await live(t);
  await end(api, session);
  const recording = await get(`/asset/${session.id}`);
  const whole = (await clip({ playbackId: recording.playbackId, startTime: FROM })).asset as Shown & {
    endTime: number;
  };
  assert.equal(whole.endTime, UNTIL, 'without an end it ends with the recording');
  const outer = await clip({ playbackId: recording.playbackId, startTime: FROM + 1000, endTime: FROM + 3000 });
  const { playbackId } = outer.asset;
  const inner = await clip({ playbackId, startTime: FROM + 2000, endTime: FROM + 3000, sessionId: session.id });
  assert.deepEqual(
    (await get<Shown[]>(`/clip/${outer.asset.id}`)).map(({ id }) => id),
    [inner.asset.id],
  );
  const beyond = await clip({ playbackId, startTime: FROM + 2000, endTime: FROM + 3001 }, 422);
  assert.equal(beyond.code, 'clip_out_of_range');
  assert.match(beyond.errors[0]!, new RegExp(`endTime .* from ${FROM + 1000} to ${FROM + 3000}\\.$`));
});

test('a clip lasts as long as the media in it, and a time at which the publisher was disconnected cannot be clipped', async (t) => {
  const { api, session, get, clip } = await live(t);
  const { playbackId } = session;
  const paused = { ...RECORDED, durationS: 10, untilMs: ms(FROM + 64_000) };
  api.extents.set(session.recordingPath!, paused);
  api.indexes.set(session.recordingPath!, indexOfSegments([0, 2, 4, 60, 62], FROM));
  api.time.now = FROM + 64_000;
  const away = await clip({ playbackId, startTime: FROM + 20_000, endTime: FROM + 40_000 }, 422);
  assert.equal(away.code, 'clip_out_of_range');
  assert.match(away.errors[0]!, /publisher was disconnected/);
  const { asset } = await clip({ playbackId, startTime: FROM + 4000, endTime: FROM + 62_000 });
  const lengthOf = ({ videoSpec }: Shown & { videoSpec?: { duration: number } }) => videoSpec?.duration;
  assert.equal(lengthOf(await get(`/asset/${asset.id}`)), 4);
  const inner = await clip({ playbackId: asset.playbackId, startTime: FROM + 5000, endTime: FROM + 61_000 });
  assert.equal(lengthOf(inner.asset), 2);
  api.indexes.clear();
  const unread = await clip({ playbackId, startTime: FROM + 4000, endTime: FROM + 62_000 });
  assert.equal(lengthOf(unread.asset), 58, 'the pause counts when the index cannot be read');
});

test('a clip of a stream is one of the broadcast at that time, or of the session that is named', async (t) => {
  const { api, key, session: first, clip } = await live(t);
  await end(api, first);
  const stream = (await api.store.streams.get(first.streamId, 'everyone'))!;
  const hour = 3_600_000;
  const later = { ...RECORDED, fromMs: ms(FROM + hour), untilMs: ms(UNTIL + hour) };
  const second = someSession(stream, { phase: 'live', createdAt: ms(FROM + hour) });
  await api.store.sessions.create(second);
  api.extents.set(second.recordingPath!, later);
  api.time.now = UNTIL + hour;
  const { playbackId } = stream;
  const sessionOf = async (body: object) => {
    const { asset } = await clip({ playbackId, ...body });
    return (asset.source as unknown as { sessionId: string }).sessionId;
  };
  assert.equal(await sessionOf({ startTime: FROM + hour + 1 }), second.id);
  assert.equal(await sessionOf({ startTime: FROM + 1, endTime: FROM + 1000 }), first.id);
  assert.equal(await sessionOf({ startTime: FROM + 1, endTime: UNTIL, sessionId: first.id }), first.id);
  for (let index = 2; index < 6; index += 1) {
    const next = someSession(stream, { phase: 'live', createdAt: ms(FROM + index * hour) });
    await api.store.sessions.create(next);
    const extent = { ...RECORDED, fromMs: ms(FROM + index * hour), untilMs: ms(UNTIL + index * hour) };
    await api.store.assets.finish(next.id as string as AssetId, extent, ms(UNTIL + index * hour));
  }
  api.time.now = UNTIL + 6 * hour;
  assert.equal(await sessionOf({ startTime: FROM + 1 }), first.id, 'without an end, also when many have followed');
  const between = await clip({ playbackId, startTime: FROM + hour - 1, endTime: FROM + hour + 5 }, 422);
  assert.equal(between.code, 'clip_out_of_range');
  const other = await recordedSession(api, key);
  for (const sessionId of [other.id, newClipId(), '../x', first.streamId]) {
    const { errors } = await clip({ playbackId, startTime: FROM + 1, sessionId }, 404);
    assert.match(errors[0]!, /sessionId/);
  }
});

test('a clip of a stream is cut from a recording that has just begun on another node', async (t) => {
  const { api, session: first, clip } = await live(t);
  await end(api, first);
  const stream = (await api.store.streams.get(first.streamId, 'everyone'))!;
  const begunAt = UNTIL + 10_000;
  const second = someSession(stream, { phase: 'live', createdAt: ms(begunAt) });
  await api.store.sessions.create(second);
  api.extentsElsewhere.set(second.recordingPath!, { ...RECORDED, fromMs: ms(begunAt), untilMs: ms(begunAt + 3000) });
  api.time.now = begunAt + 3000;
  const { asset } = await clip({ playbackId: stream.playbackId, startTime: begunAt + 1000 });
  assert.equal((asset.source as unknown as { sessionId: string }).sessionId, second.id);
  const early = { playbackId: stream.playbackId, startTime: FROM + 1000, endTime: FROM + 2000 };
  const { asset: older } = await clip(early);
  assert.equal((older.source as unknown as { sessionId: string }).sessionId, first.id);
});

test('what cannot be clipped is refused with the field and the reason', async (t) => {
  const { api, key, session, clip } = await live(t);
  const { playbackId } = session;
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'not recorded' } })).json();
  const unrecorded = (await api.store.streams.get(id, 'everyone'))!;
  const plain = someSession(unrecorded, { phase: 'live' });
  await api.store.sessions.create(plain);
  const time = { startTime: FROM + 1000, endTime: FROM + 2000 };
  const cases: readonly [body: object, status: number, code: string, text: RegExp][] = [
    [{ ...time }, 422, 'invalid_body', /playbackId is missing/],
    [{ playbackId }, 422, 'invalid_body', /startTime is missing/],
    [{ playbackId, ...time, extra: 1 }, 422, 'invalid_body', /extra/],
    [{ playbackId, startTime: '5' }, 422, 'invalid_body', /startTime/],
    [{ playbackId, startTime: -1 }, 422, 'invalid_body', /startTime/],
    [{ playbackId, startTime: 1e300 }, 422, 'invalid_body', /startTime/],
    [{ playbackId, startTime: FROM + 2000, endTime: FROM + 2000 }, 422, 'invalid_body', /endTime must be after/],
    [{ playbackId, startTime: FROM - 1, endTime: UNTIL }, 422, 'clip_out_of_range', /startTime .* from \d+ to \d+/],
    [{ playbackId, startTime: FROM, endTime: UNTIL + 3_600_000 }, 422, 'clip_out_of_range', /endTime/],
    [{ playbackId: 'x', ...time }, 404, 'not_found', /playback id/],
    [{ playbackId: '../../etc', ...time }, 404, 'not_found', /playback id/],
    [{ playbackId: '0000000000000000', ...time }, 404, 'not_found', /playback id/],
    [{ playbackId: unrecorded.playbackId, ...time }, 422, 'not_recorded', /not recorded/],
    [{ playbackId: unrecorded.playbackId, ...time, sessionId: plain.id }, 422, 'not_recorded', /not recorded/],
  ];
  for (const [body, status, code, text] of cases) {
    const answer = await clip(body, status);
    assert.equal(answer.code, code, JSON.stringify(body));
    assert.match(answer.errors[0]!, text);
  }
  api.extents.set(session.recordingPath!, { ...RECORDED, fromMs: undefined, untilMs: undefined });
  assert.match((await clip({ playbackId, ...time }, 422)).errors[0]!, /Nothing is recorded yet/);
  await api.store.assets.fail(session.id as string as AssetId, 'No.', ms(UNTIL));
  assert.equal((await clip({ playbackId, ...time }, 422)).code, 'not_recorded');
  assert.deepEqual(
    (
      await api.store.assets.list('everyone', {
        limit: 9,
        order: 'createdAt',
        direction: 'desc',
        filter: { kind: 'clip' },
      })
    ).rows,
    [],
  );
  await api.call('DELETE', `/stream/${session.streamId}`, { key });
  assert.equal((await clip({ playbackId, ...time }, 404)).code, 'not_found');
});

test('the same request with an Idempotency-Key makes one clip, and clips are limited by a quota', async (t) => {
  const { api, key, session, get } = await live(t, { MILLRACE_QUOTA_CLIPS: '2' });
  const body = { playbackId: session.playbackId, startTime: FROM };
  const post = (name: string) => api.call('POST', '/clip', { key, body, headers: { 'idempotency-key': name } });
  const [first, again] = [await post('a'), await post('a')];
  assert.equal(first.body, again.body);
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.equal((await get<Shown[]>(`/session/${session.id}/clips`)).length, 1);
  assert.equal((await post('b')).statusCode, 200);
  const third = await post('c');
  assert.deepEqual([third.statusCode, third.json().code], [403, 'quota_exceeded']);
});

test('assets of other users do not exist, and admins reach them when they ask for it', async (t) => {
  const { api, key, session, clip } = await live(t);
  await end(api, session);
  const { asset } = await clip({ playbackId: session.playbackId, startTime: FROM });
  const [bob, admin] = [await api.makeKey('bob'), await api.makeKey('admin')];
  const recording = (await api.store.assets.get(session.id as string as AssetId, 'everyone'))!;
  const calls = [
    ['GET', `/asset/${session.id}`],
    ['PATCH', `/asset/${asset.id}`, { name: 'mine' }],
    ['DELETE', `/asset/${asset.id}`],
    ['DELETE', `/asset/${session.id}`],
    ['GET', `/asset/${session.id}/clips`],
    ['GET', `/session/${session.id}/clips`],
    ['GET', `/stream/${session.streamId}/clips`],
    ['GET', `/stream/${session.playbackId}/clips`],
    ['GET', `/clip/${session.playbackId}`],
    ['GET', `/task/${asset.id}`],
    ...[session.playbackId, recording.playbackId, asset.playbackId].map(
      (playbackId) => ['POST', '/clip', { playbackId, startTime: FROM }] as const,
    ),
  ] as const;
  for (const other of [bob, admin]) {
    for (const [method, path, body] of calls) {
      const { statusCode, body: text } = await api.call(method, path, { key: other, ...(body && { body }) });
      assert.equal(statusCode, 404, `${method} ${path} ${text}`);
    }
    assert.deepEqual((await api.call('GET', '/asset', { key: other })).json(), []);
    assert.deepEqual((await api.call('GET', '/task', { key: other })).json(), []);
  }
  assert.equal((await api.call('GET', `/asset/${session.id}?userId=${key.userId}`, { key: bob })).statusCode, 403);
  assert.equal((await api.call('GET', `/asset/${session.id}?all=1`, { key: admin })).json().id, session.id);
  assert.equal((await api.call('GET', `/asset?userId=${key.userId}`, { key: admin })).json().length, 2);
  const clipOfOther = { playbackId: session.playbackId, startTime: FROM };
  assert.equal((await api.call('POST', '/clip?all=1', { key: admin, body: clipOfOther })).statusCode, 400);
});

test('API keys reach assets as their rules say, and nothing without a key', async (t) => {
  const { api, session } = await live(t);
  const rules = [{ resources: ['asset', 'asset/:id'], methods: ['get'] }];
  const reader = await api.makeKey('ann', 'reader', undefined, rules);
  assert.equal((await api.call('GET', `/asset/${session.id}`, { key: reader })).statusCode, 200);
  for (const [method, path] of [
    ['DELETE', `/asset/${session.id}`],
    ['PATCH', `/asset/${session.id}`],
    ['GET', `/asset/${session.id}/clips`],
    ['POST', '/clip'],
    ['GET', '/task'],
  ] as const) {
    assert.equal((await api.call(method, path, { key: reader })).statusCode, 403, path);
    assert.equal((await api.call(method, path)).statusCode, 401, path);
  }
});

test('an asset is renamed, gets a policy, and is deleted once, with entries in the audit log', async (t) => {
  const { api, key, session, get, clip } = await live(t);
  const admin = await api.makeKey('admin');
  const path = `/asset/${session.id}`;
  const change = { name: 'renamed', creatorId: 'c1', playbackPolicy: { type: 'jwt' } };
  const patched = await api.call('PATCH', path, { key, body: change });
  assert.equal(patched.statusCode, 200);
  const { name, creatorId, playbackPolicy } = patched.json();
  assert.deepEqual({ name, creatorId: creatorId.value, playbackPolicy }, change);
  assert.deepEqual(await get(path), patched.json());
  assert.equal((await api.call('PATCH', path, { key })).json().name, 'renamed');
  for (const body of [{ name: '' }, { storage: {} }, { playbackPolicy: { type: 'webhook' } }, { id: 'x' }]) {
    assert.equal((await api.call('PATCH', path, { key, body })).statusCode, 422, JSON.stringify(body));
  }
  const nobodys = { playbackPolicy: { type: 'webhook', webhookId: newClipId() } };
  assert.equal((await api.call('PATCH', path, { key, body: nobodys })).statusCode, 400);
  const clipped = await clip({ playbackId: session.playbackId, startTime: FROM });
  assert.deepEqual((clipped.asset as Shown & { playbackPolicy: object }).playbackPolicy, { type: 'jwt' });
  assert.equal(
    'playbackPolicy' in (await api.call('PATCH', path, { key, body: { playbackPolicy: null } })).json(),
    false,
  );

  const running = await api.call('DELETE', path, { key });
  assert.deepEqual([running.statusCode, running.json().code], [409, 'conflict']);
  await end(api, session);
  for (const id of [session.id, clipped.asset.id]) {
    assert.equal((await api.call('DELETE', `/asset/${id}`, { key })).statusCode, 204);
    assert.equal((await api.call('DELETE', `/asset/${id}`, { key })).statusCode, 404);
    await get(`/asset/${id}`, 404);
  }
  await get('/asset/x', 404);
  assert.equal((await api.call('DELETE', '/asset/x', { key })).statusCode, 404);
  assert.deepEqual(await get<Shown[]>('/asset'), []);
  const entries = (await api.call('GET', `/audit?resourceId=${session.id}`, { key: admin })).json();
  assert.deepEqual(
    entries.map(({ action }: { action: string }) => action),
    ['asset.deleted', 'asset.updated', 'asset.updated'],
    'an empty change leaves no entry',
  );
});

test('the answer to a change has the time that is stored, however long the request takes', async (t) => {
  const { api, key, session, get } = await live(t);
  let { now } = api.time;
  Object.defineProperty(api.time, 'now', { get: () => (now += 1) });
  const path = `/asset/${session.id}`;
  const patched = await api.call('PATCH', path, { key, body: { name: 'renamed' } });
  assert.equal(patched.json().status.updatedAt, (await get<Shown>(path)).status.updatedAt);
});

test('assets are listed by every filter, ordered, counted and page by page', async (t) => {
  const { api, key, session, get, clip } = await live(t);
  const made: Shown[] = [];
  for (const name of ['Tor', 'tor zwei', 'other']) {
    api.time.now += 1000;
    made.push((await clip({ playbackId: session.playbackId, startTime: FROM, name })).asset);
  }
  const recording = await get(`/asset/${session.id}`);
  const names = async (query: string) => (await get<Shown[]>(`/asset?${query}`)).map(({ name }) => name);
  const filters = (...entries: readonly [id: string, value: unknown][]) =>
    `filters=${encodeURIComponent(JSON.stringify(entries.map(([id, value]) => ({ id, value }))))}`;
  assert.deepEqual(await names(''), ['other', 'tor zwei', 'Tor', 'the show']);
  assert.deepEqual(await names('order=createdAt-false'), ['the show', 'Tor', 'tor zwei', 'other']);
  assert.deepEqual(await names('order=updatedAt-true'), ['other', 'tor zwei', 'Tor', 'the show']);
  for (const [query, expected] of [
    [filters(['id', made[0]!.id]), ['Tor']],
    [filters(['name', 'TOR']), ['tor zwei', 'Tor']],
    [filters(['phase', 'waiting']), ['the show']],
    [filters(['phase', 'ready'], ['name', 'zwei']), ['tor zwei']],
    [filters(['sourceType', 'recording']), ['the show']],
    [filters(['sourceSessionId', session.id]), ['other', 'tor zwei', 'Tor', 'the show']],
    [filters(['sourceAssetId', session.id]), ['other', 'tor zwei', 'Tor']],
    [filters(['sourcePlaybackId', session.playbackId]), ['other', 'tor zwei', 'Tor']],
    [filters(['playbackId', recording.playbackId]), ['the show']],
    [filters(['creatorId', 'nobody']), []],
    [filters(['createdAt', { gt: FROM }]), ['other', 'tor zwei', 'Tor']],
    [`${filters(['updatedAt', { lte: FROM }])}&order=updatedAt-true`, ['the show']],
    [`playbackId=${made[1]!.playbackId}`, ['tor zwei']],
    ['phase=processing', []],
    ['phase=ready&limit=1', ['other']],
  ] as const) {
    assert.deepEqual(await names(query), expected, query);
  }
  for (const query of [
    'order=lastSeen-true',
    'phase=done',
    'playbackId=x',
    filters(['cid', 'x']),
    filters(['sourceUrl', 'x']),
    filters(['phase', 5]),
    filters(['sourceType', 'url']),
    filters(['sourceSessionId', '../x']),
    filters(['sourceType', 'recording'], ['sourceAssetId', session.id]),
    `phase=ready&${filters(['phase', 'waiting'])}`,
    filters(['updatedAt', 5]),
    'limit=0',
  ]) {
    assert.equal((await api.call('GET', `/asset?${query}`, { key })).statusCode, 400, query);
  }
  const first = await api.call('GET', '/asset?limit=3&count=1&phase=ready', { key });
  assert.equal(first.headers['x-total-count'], '3');
  assert.equal(first.headers.link, undefined);
  const page = await api.call('GET', '/asset?limit=3', { key });
  const next = /^<http:\/\/localhost:80\/api(.*)>; rel="next"$/.exec(String(page.headers.link))?.[1];
  assert.deepEqual(
    (await get<Shown[]>(next!)).map(({ name }) => name),
    ['the show'],
  );
});

test('anybody is told how to play a recording, a clip and what is live, under the right type', async (t) => {
  const { api, key, session, get, clip } = await live(t);
  const base = `http://localhost:80/recordings/${session.recordingPath}`;
  const playback = async (id: string, status = 200) => {
    const response = await api.call('GET', `/playback/${id}`);
    assert.equal(response.statusCode, status, response.body);
    return response.json();
  };
  const recording = await get(`/asset/${session.id}`);
  const ladder = {
    kind: 'video',
    rendition: '360p',
    codec: 'h264',
    bitrateBps: 800_000.4,
    width: 640,
    height: 360,
  } as const;
  api.extents.set(session.recordingPath!, { ...RECORDED, tracks: [ladder, ...RECORDED.tracks] });
  const source = [
    { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: `${base}/index.m3u8` },
    {
      hrn: 'MP4',
      type: 'html5/video/mp4',
      url: `${base}/source.mp4`,
      size: 2_737_000,
      bitrate: 3_128_000,
      width: 1280,
      height: 720,
    },
    {
      hrn: 'MP4',
      type: 'html5/video/mp4',
      url: `${base}/360p.mp4`,
      size: 812_000,
      bitrate: 928_000,
      width: 640,
      height: 360,
    },
    { hrn: 'Thumbnails', type: 'text/vtt', url: `${base}/storyboard.vtt` },
    { hrn: 'Thumbnail (JPEG)', type: 'image/jpeg', url: `${base}/poster.jpg` },
  ];
  assert.deepEqual(await playback(recording.playbackId), { type: 'vod', meta: { source } });
  assert.deepEqual(await playback(session.id), { type: 'recording', meta: { source } });
  assert.equal((await playback(session.playbackId)).type, 'live');
  const { asset } = await clip({ playbackId: session.playbackId, startTime: FROM });
  for (const id of [asset.id, asset.playbackId]) {
    const found = await playback(id);
    assert.deepEqual([found.type, found.meta.source[0].url], ['vod', asset.playbackUrl]);
  }

  const dvr = [source[0]];
  assert.deepEqual((await playback(`${session.playbackId}?recordings=true`)).meta.dvrPlayback, dvr);
  await api.call('PATCH', `/stream/${session.streamId}`, { key, body: { playbackPolicy: { type: 'jwt' } } });
  assert.deepEqual((await playback(session.id)).meta.playbackPolicy, { type: 'jwt' });
  await api.call('PATCH', `/asset/${session.id}`, { key, body: { playbackPolicy: { type: 'public' } } });
  assert.deepEqual((await playback(session.id)).meta.playbackPolicy, { type: 'public' });
  assert.deepEqual((await playback(asset.id)).meta.playbackPolicy, { type: 'jwt' });

  for (const [suspended, status] of [
    [true, 404],
    [false, 200],
  ] as const) {
    await api.call('PATCH', `/stream/${session.streamId}`, { key, body: { suspended } });
    for (const id of [session.id, asset.id]) await playback(id, status);
  }
  for (const [suspended, status] of [
    [true, 404],
    [false, 200],
  ] as const) {
    await api.store.users.change(session.userId, { suspended }, someReceipt());
    for (const id of [session.id, asset.id, session.playbackId]) await playback(id, status);
  }

  await end(api, session);
  const { dvrPlayback } = (await playback(`${session.playbackId}?recordings=1`)).meta;
  assert.deepEqual(dvrPlayback, [{ error: 'No recording of this stream is running in which viewers may go back.' }]);
  await api.call('DELETE', `/stream/${session.streamId}`, { key });
  assert.deepEqual((await playback(asset.id)).meta.playbackPolicy, { type: 'jwt' }, 'also when the stream is deleted');
  await api.call('DELETE', `/asset/${session.id}`, { key });
  await playback(session.id, 404);
  await playback(recording.playbackId, 404);
  for (const id of [newClipId(), session.streamId, 'x', '..%2f..%2fetc']) await playback(id, 404);
});

test('nobody is told of a running recording that viewers may not go back in', async (t) => {
  const { api, session } = await live(t, { MILLRACE_DVR: 'off' });
  const { meta } = (await api.call('GET', `/playback/${session.playbackId}?recordings=1`)).json();
  assert.match(meta.dvrPlayback[0].error, /^No recording/);
});

test('recordingSpec is accepted where it asks for nothing', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const create = (recordingSpec: unknown) =>
    api.call('POST', '/stream', { key, body: { name: 'x', record: true, recordingSpec } });
  for (const spec of [null, {}, { profiles: null }]) assert.equal((await create(spec)).statusCode, 201);
  for (const spec of [{ profiles: [{ bitrate: 1 }] }, { x: 1 }, 'x', []]) {
    const refused = await create(spec);
    assert.equal(refused.statusCode, 422);
    assert.match(refused.json().errors[0], /recordingSpec/);
  }
});

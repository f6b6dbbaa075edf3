import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SessionHealth } from '#domain/health.ts';
import { newPlaybackId } from '#domain/ids.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { ms } from '#lib/units.ts';
import { someHealth, someSession } from '#test/support/sample-records.ts';
import { someStatus } from './live-status.ts';
import { startApi } from './server.ts';

const profile = { name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 };

test('creating a stream answers 201 with every field of the specification', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann', 'ann-laptop');
  const response = await api.call('POST', '/stream', { key, body: { name: 'first', profiles: [profile] } });
  assert.equal(response.statusCode, 201);
  assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
  const { id, streamKey, playbackId, ...rest } = response.json();
  assert.deepEqual(rest, {
    kind: 'stream',
    name: 'first',
    userId: key.userId,
    createdAt: api.time.now,
    createdByTokenName: 'ann-laptop',
    profiles: [profile],
    isActive: false,
    lastSeen: 0,
    suspended: false,
    record: false,
    multistream: { targets: [] },
    isHealthy: null,
    issues: null,
  });
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(streamKey, /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
  assert.match(playbackId, /^[0-9a-z]{16}$/);
});

test('a created stream can be read at once, byte for byte the same', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const created = await api.call('POST', '/stream', { key, body: { name: 'x', profiles: [profile] } });
  const read = await api.call('GET', `/stream/${created.json().id}`, { key });
  assert.equal(read.statusCode, 200);
  assert.equal(read.body, created.body);
  assert.equal(read.headers['cache-control'], 'no-store');
});

test('HEAD and a trailing slash are handled like GET', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const head = await api.call('HEAD', `/stream/${id}/`, { key });
  assert.equal(head.statusCode, 200);
  assert.equal(head.body, '');
  assert.ok(Number(head.headers['content-length']) > 0);
  assert.equal((await api.call('POST', '/stream/', { key, body: { name: 'x' } })).statusCode, 201);
});

test('any name of 1 to 512 characters without U+0000 is returned as it was sent', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 512 }).filter((name) => !name.includes('\0'));
  await fc.assert(
    fc.asyncProperty(names, async (name) => {
      const created = await api.call('POST', '/stream', { key, body: { name } });
      assert.equal(created.statusCode, 201, created.body);
      assert.equal(created.json().name, name);
      assert.equal((await api.call('GET', `/stream/${created.json().id}`, { key })).json().name, name);
    }),
    { numRuns: 50, examples: [['\uFEFFx'], ['𝒳'.repeat(512)], ['"\\\n\u2028'], ['e\u0301 is not \u00e9']] },
  );
});

test('profiles are returned exactly as sent, including the order of keys, also from the store', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const profiles =
    '[{"height":720,"gop":"2.0","width":1280,"fpsDen":1001,"name":"a","fps":30000,"bitrate":2000000},' +
    '{"name":"b","encoder":"H.264","quality":20,"bitrate":400,"fps":0,"width":128,"height":128,"profile":"H264Main"}]';
  const created = await api.call('POST', '/stream', { key, body: `{"profiles":${profiles},"name":"x"}` });
  assert.equal(created.statusCode, 201, created.body);
  const { id } = created.json();
  const read = await api.call('GET', `/stream/${id}`, { key });
  const listed = await api.call('GET', '/stream', { key });
  for (const { body } of [created, read, listed]) assert.ok(body.includes(`"profiles":${profiles}`), body);
});

test('missing or null profiles give the default ladder, and [] stays empty', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const profilesOf = async (body: object) => (await api.call('POST', '/stream', { key, body })).json().profiles;
  assert.deepEqual(await profilesOf({ name: 'x' }), DEFAULT_PROFILES);
  assert.deepEqual(await profilesOf({ name: 'x', profiles: null }), DEFAULT_PROFILES);
  assert.deepEqual(await profilesOf({ name: 'x', profiles: [] }), []);
});

test('the default ladder is a setting', async (t) => {
  const api = await startApi(t, { MILLRACE_DEFAULT_PROFILES: JSON.stringify([profile]) });
  const key = await api.makeKey('ann');
  const created = await api.call('POST', '/stream', { key, body: { name: 'x' } });
  assert.deepEqual(created.json().profiles, [profile]);
});

test("a stream is hidden from other users, and visible with each of its user's keys", async (t) => {
  const api = await startApi(t);
  const [ann, annToo, bob] = [await api.makeKey('ann'), await api.makeKey('ann', 'other'), await api.makeKey('bob')];
  const { id } = (await api.call('POST', '/stream', { key: ann, body: { name: 'x' } })).json();
  assert.equal((await api.call('GET', `/stream/${id}`, { key: annToo })).statusCode, 200);
  const foreign = await api.call('GET', `/stream/${id}`, { key: bob });
  const unknown = await api.call('GET', '/stream/00000000-0000-4000-8000-000000000000', { key: bob });
  assert.equal(foreign.statusCode, 404);
  assert.deepEqual({ ...foreign.json<object>(), requestId: '' }, { ...unknown.json<object>(), requestId: '' });
  assert.deepEqual((await api.call('GET', '/stream', { key: bob })).json(), []);
});

test('neither a stream key nor a playback id can be used as an id', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { streamKey, playbackId } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  for (const id of [streamKey, playbackId, '..%2f', '%00', "'", 'x'.repeat(100), 'x'.repeat(5000)]) {
    const response = await api.call('GET', `/stream/${id}`, { key });
    assert.equal(response.statusCode, 404);
    assert.ok(!response.body.includes(id));
  }
});

test('isActive and lastSeen come from the running session, or else from the store', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, playbackId } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const stateOf = async () => {
    const { isActive, lastSeen } = (await api.call('GET', `/stream/${id}`, { key })).json();
    const { meta } = (await api.call('GET', `/playback/${playbackId}`)).json();
    return { isActive, lastSeen, live: meta.live };
  };
  assert.deepEqual(await stateOf(), { isActive: false, lastSeen: 0, live: 0 });
  api.statuses.set(id, someStatus({ lastSeen: ms(5000) }));
  assert.deepEqual(await stateOf(), { isActive: true, lastSeen: 5000, live: 1 });
  await api.store.streams.setActivity(id, { isActive: true, lastSeen: ms(6000), health: undefined });
  api.statuses.set(id, someStatus({ isActive: false, lastSeen: ms(5000) }));
  assert.deepEqual(await stateOf(), { isActive: false, lastSeen: 6000, live: 0 });
  api.statuses.delete(id);
  assert.deepEqual(await stateOf(), { isActive: true, lastSeen: 6000, live: 1 });
});

test('a thumbnail is listed while there is one, also when the stream runs on another node', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, playbackId } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const listed = async () =>
    (await api.call('GET', `/playback/${playbackId}`)).json().meta.source.map(({ type }: { type: string }) => type);
  const hls = 'html5/application/vnd.apple.mpegurl';
  assert.deepEqual(await listed(), [hls]);
  for (const [hasThumbnail, expected] of [
    [false, [hls]],
    [true, [hls, 'image/jpeg']],
  ] as const) {
    await api.store.streams.setActivity(id, {
      isActive: true,
      lastSeen: ms(1),
      health: someHealth({ hasThumbnail }),
    });
    assert.deepEqual(await listed(), expected);
  }
});

test('while media is received, a stream and its session show their health', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const rates = { framesPerSecond: 29.970_03, bitrateBps: 2_000_000.4 };
  const audioRates = { framesPerSecond: 46.875, bitrateBps: 128_000 };
  let health: SessionHealth = {
    encoder: 'Lavf61',
    source: {
      video: { codec: 'avc1.64001f', width: 1280, height: 720, rates, keyframeIntervalS: 2.000_01 },
      audio: { codec: 'mp4a.40.2', sampleRate: 48_000, channels: 2, rates: audioRates },
    },
    ladder: {
      renditions: [
        { id: '480p', state: 'running', video: { codec: 'avc1.64001e', width: 854, height: 480, rates } },
        { id: '360p', state: 'waiting', video: undefined },
      ],
      leftOut: [{ id: '1080p', reason: 'larger_than_source' }],
      transcoder: { restarts: 1, lagMs: 41.7 },
    },
    hasThumbnail: true,
    warnings: [],
  };
  api.statuses.set(id, someStatus({ health: () => health, viewersOf: (rendition) => (rendition === '480p' ? 2 : 7) }));
  const read = async () => (await api.call('GET', `/stream/${id}`, { key })).json();
  const well = await read();
  assert.equal(well.isHealthy, true);
  assert.deepEqual(well.issues, []);
  assert.deepEqual([well.ingestRate, well.outgoingRate], [266_000, 250_000]);
  const measured = { fps: 29.97, bitrate: 2_000_000 };
  assert.deepEqual(well.health, {
    encoder: 'Lavf61',
    source: {
      viewers: 7,
      video: { codec: 'avc1.64001f', width: 1280, height: 720, ...measured, keyframeInterval: 2 },
      audio: { codec: 'mp4a.40.2', sampleRate: 48_000, channels: 2, bitrate: 128_000 },
    },
    renditions: [
      {
        name: '480p',
        state: 'running',
        viewers: 2,
        video: { codec: 'avc1.64001e', width: 854, height: 480, ...measured },
      },
      { name: '360p', state: 'waiting', viewers: 7 },
    ],
    leftOut: [{ name: '1080p', reason: 'larger_than_source' }],
    transcoder: { restarts: 1, lag: 42 },
    warnings: [],
  });

  const notice = { code: 'profile_larger_than_source', severity: 'notice', message: 'so', since: ms(1) } as const;
  health = { ...health, warnings: [notice] };
  assert.deepEqual([(await read()).isHealthy, (await read()).issues], [true, []]);
  const issue = { code: 'transcode_restarted', severity: 'issue', message: 'it was', since: ms(2) } as const;
  health = { ...health, warnings: [notice, issue] };
  const ill = await read();
  assert.deepEqual([ill.isHealthy, ill.issues], [false, ['it was']]);
  assert.deepEqual(ill.health.warnings, [notice, issue]);
});

test('a session can be read as a stream with a parent and without a stream key', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann', 'ann-laptop');
  const stream = (await api.call('POST', '/stream', { key, body: { name: 'x', profiles: [profile] } })).json();
  assert.ok(!('parentId' in stream));
  const session = someSession((await api.store.streams.get(stream.id, 'everyone'))!, {
    phase: 'ended',
    createdAt: ms(7000),
    lastSeen: ms(8000),
  });
  await api.store.sessions.create(session);
  const { streamKey: _, ...inherited } = stream;
  const expected = { ...inherited, id: session.id, parentId: stream.id, createdAt: 7000, lastSeen: 8000 };
  assert.deepEqual((await api.call('GET', `/stream/${session.id}`, { key })).json(), expected);
  api.statuses.set(session.id, someStatus({ lastSeen: ms(8500) }));
  assert.deepEqual((await api.call('GET', `/stream/${session.id}`, { key })).json(), {
    ...expected,
    isActive: true,
    lastSeen: 8500,
  });
  const bob = await api.makeKey('bob');
  assert.equal((await api.call('GET', `/stream/${session.id}`, { key: bob })).statusCode, 404);
  const listed = (await api.call('GET', '/stream', { key })).json();
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [stream.id],
  );
});

test('a list is newest first, and its Link headers lead to every entry exactly once', async (t) => {
  const api = await startApi(t, { MILLRACE_PUBLIC_URL: 'https://live.example.com' });
  const key = await api.makeKey('ann');
  const created: string[] = [];
  for (let index = 0; index < 7; index += 1) {
    api.time.now += index % 3; // some share their millisecond
    created.push((await api.call('POST', '/stream', { key, body: { name: `${index}` } })).json().id);
  }
  const seen: { id: string; createdAt: number }[] = [];
  let next: string | undefined = '/stream?limit=3';
  const sizes: number[] = [];
  while (next !== undefined) {
    const response = await api.call('GET', next, { key });
    assert.equal(response.statusCode, 200);
    sizes.push(response.json().length);
    seen.push(...response.json());
    const link = response.headers.link as string | undefined;
    next = link && /^<https:\/\/live\.example\.com\/api(\/stream\?.*)>; rel="next"$/.exec(link)?.[1];
    assert.equal(next === undefined, link === undefined);
  }
  assert.deepEqual(sizes, [3, 3, 1]);
  assert.deepEqual(seen.map(({ id }) => id).sort(), created.sort());
  const byAge = seen.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  assert.deepEqual(seen, byAge);
});

test('a page that is exactly full has no Link when nothing follows', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (let index = 0; index < 2; index += 1) await api.call('POST', '/stream', { key, body: { name: 'x' } });
  const response = await api.call('GET', '/stream?limit=2', { key });
  assert.equal(response.json().length, 2);
  assert.equal(response.headers.link, undefined);
});

test('a list page holds 20 streams by default', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  await Promise.all(Array.from({ length: 21 }, () => api.call('POST', '/stream', { key, body: { name: 'x' } })));
  assert.equal((await api.call('GET', '/stream', { key })).json().length, 20);
  assert.equal((await api.call('GET', '/stream?limit=1000&streamsonly=1', { key })).json().length, 21);
});

test('playback information is public and has absolute URLs, whether the stream is live or not', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, playbackId } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const read = () =>
    api.call('GET', `/playback/${playbackId}`, {
      headers: { host: 'live.example.com:8080', origin: 'https://elsewhere.example' },
    });
  const response = await read();
  assert.equal(response.statusCode, 200);
  assert.equal(response.headers['access-control-allow-origin'], '*');
  assert.deepEqual(response.json(), {
    type: 'live',
    meta: {
      live: 0,
      source: [
        {
          hrn: 'HLS (TS)',
          type: 'html5/application/vnd.apple.mpegurl',
          url: `http://live.example.com:8080/hls/${playbackId}/index.m3u8`,
        },
      ],
    },
  });
  api.thumbnails.set(playbackId, Buffer.from('jpeg'));
  assert.deepEqual((await read()).json().meta.source[1], {
    hrn: 'Thumbnail (JPEG)',
    type: 'image/jpeg',
    url: `http://live.example.com:8080/hls/${playbackId}/thumbnail.jpg`,
  });
  assert.equal((await api.call('GET', `/playback/${id}`)).statusCode, 404, 'a stream id is not a playback id');
});

test('an address that asks how to play many invented ids is refused, and no other address is', async (t) => {
  const api = await startApi(t);
  const ask = (remoteAddress: string) => api.call('GET', `/playback/${newPlaybackId()}`, { remoteAddress });
  for (let asked = 0; asked < 600; asked += 1) assert.equal((await ask('192.0.2.1')).statusCode, 404);
  const refused = await ask('192.0.2.1');
  assert.deepEqual([refused.statusCode, refused.json().code], [503, 'too_many_viewers']);
  assert.equal((await ask('198.51.100.1')).statusCode, 404);
});

test('ingest URLs have the host that the request was sent to', async (t) => {
  const api = await startApi(t);
  const response = await api.call('GET', '/ingest', { headers: { host: 'live.example.com:8080' } });
  const base = 'http://live.example.com:8080';
  assert.deepEqual(response.json(), [
    { ingest: 'rtmp://live.example.com/live', playback: `${base}/hls`, base, origin: base },
  ]);
});

test('the API is under the path of the settings', async (t) => {
  const api = await startApi(t, { MILLRACE_API_PREFIX: '/v1/live/' });
  assert.equal((await api.http.inject('/v1/live/ingest')).statusCode, 200);
  assert.equal((await api.http.inject('/api/ingest')).statusCode, 404);
});

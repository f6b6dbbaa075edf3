import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamId } from '#domain/ids.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { ms } from '#lib/units.ts';
import { someSession } from '#test/support/sample-records.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

const profile = { name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 };

const create = async (api: TestApi, key: TestKey, body: object = { name: 'x' }) =>
  (await api.call('POST', '/stream', { key, body })).json();

const read = async (api: TestApi, key: TestKey, id: string) => (await api.call('GET', `/stream/${id}`, { key })).json();

/** The entries of the audit log about a stream, oldest first. */
const auditOf = async (api: TestApi, resourceId: string) =>
  (await api.store.audit.list({ resourceId }, { limit: 100 })).rows.toReversed();

test('every field that a client may set is stored on creation and on change, and shown', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const userTags = { show: 'evening', season: 3, hosts: ['ann', 2], '': 1 };
  const created = await create(api, key, { name: 'x', record: true, creatorId: 'c1', userTags });
  assert.deepEqual(
    [created.record, created.creatorId, created.userTags],
    [true, { type: 'unverified', value: 'c1' }, userTags],
  );
  assert.deepEqual(await read(api, key, created.id), created);
  const change = {
    name: 'y',
    record: false,
    suspended: true,
    profiles: [profile],
    creatorId: { type: 'unverified', value: 'c2' },
    userTags: {},
    multistream: { targets: [] },
    playbackPolicy: { type: 'jwt', allowedOrigins: ['https://example.com'] },
  };
  const response = await api.call('PATCH', `/stream/${created.id}`, { key, body: change });
  assert.equal(response.statusCode, 204, response.body);
  assert.equal(response.body, '');
  const { warnings: _, ...unwarned } = created;
  assert.deepEqual(await read(api, key, created.id), { ...unwarned, ...change });
  await api.call('PATCH', `/stream/${created.id}`, { key, body: { profiles: null, playbackPolicy: null } });
  const emptied = await read(api, key, created.id);
  assert.deepEqual([emptied.profiles, emptied.playbackPolicy], [DEFAULT_PROFILES, undefined]);
  const [, changed] = await auditOf(api, created.id);
  assert.equal(changed?.action, 'stream.updated');
  const fields = ['creatorId', 'name', 'playbackPolicy', 'profiles', 'record', 'suspended', 'userTags'];
  assert.deepEqual(changed?.fields.toSorted(), fields);
  assert.equal(changed?.actor?.userId, key.userId);
});

test('an empty change changes nothing and leaves no entry, but the stream must exist', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const stream = await create(api, key);
  assert.equal((await api.call('PATCH', `/stream/${stream.id}`, { key, body: {} })).statusCode, 204);
  assert.equal((await api.call('PATCH', `/stream/${stream.id}`, { key })).statusCode, 204);
  assert.deepEqual(await read(api, key, stream.id), stream);
  assert.equal((await auditOf(api, stream.id)).length, 1);
  const unknown = '/stream/00000000-0000-4000-8000-000000000000';
  assert.equal((await api.call('PATCH', unknown, { key, body: {} })).statusCode, 404);
});

/** Bodies of `PATCH` and, with a name, of `POST` that are refused with 422. What is not supported is never ignored. */
const REFUSED: readonly (readonly [body: object, names: RegExp])[] = [
  [{ record: 1 }, /^The field record must be of type boolean/],
  [{ creatorId: 7 }, /^The field creatorId must be of type string or object/],
  [{ creatorId: '' }, /^The field creatorId must not be empty/],
  [{ creatorId: { type: 'verified', value: 'x' } }, /^The field creatorId\.type must be unverified/],
  [{ creatorId: { type: 'unverified' } }, /^The field creatorId\.value is missing/],
  [{ userTags: [] }, /^The field userTags must be of type object/],
  [{ userTags: { secretName: { a: 1 } } }, /^The field userTags may hold only/],
  [{ userTags: { t: 'x'.repeat(2048) } }, /^The field userTags has more than 2048 characters/],
  [{ multistream: { targets: [{ profile: 'source', id: 'x' }] } }, /targets are not supported yet\.$/],
  [{ playbackPolicy: 'jwt' }, /^The field playbackPolicy must be of type object or null/],
  [{ playbackPolicy: {} }, /^The field playbackPolicy\.type is missing/],
  [{ playbackPolicy: { type: 'lit_signing_condition' } }, /^The field playbackPolicy\.type must be one of/],
  [{ playbackPolicy: { type: 'jwt', keys: [] } }, /^The field playbackPolicy\.keys is unknown here/],
  [{ playbackPolicy: { type: 'webhook' } }, /^The field playbackPolicy\.webhookId is missing/],
  [{ playbackPolicy: { type: 'jwt', refreshInterval: 0 } }, /^The field playbackPolicy\.refreshInterval/],
  ...['example.com', 'https://example.com/path', 'ftp://example.com', 'https://example.com\u0000', 'null'].map(
    (origin) =>
      [
        { playbackPolicy: { type: 'public', allowedOrigins: ['*', origin] } },
        /^The field playbackPolicy\.allowedOrigins\[1\] must/,
      ] as const,
  ),
  [
    { playbackPolicy: { type: 'webhook', webhookId: 'x', webhookContext: { a: 'x'.repeat(4096) } } },
    /^The field playbackPolicy\.webhookContext must have at most 4096/,
  ],
  [{ pull: { source: 'https://example.com/live' } }, /^The field pull is unknown here/],
  [{ recordingSpec: { profiles: [{ bitrate: 1 }] } }, /^The field recordingSpec\.profiles must have at most 0/],
  [{ streamKey: 'x' }, /^The field streamKey is unknown here/],
  [{ profiles: [profile, profile] }, /^The field profiles\[1\]\.name is the same/],
  [{ profiles: [{ ...profile, name: 'source' }] }, /^The field profiles\[0\]\.name must not be "source"/],
];

test('fields that cannot be honoured are refused on creation and on change', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const stream = await create(api, key);
  for (const [body, names] of REFUSED) {
    for (const [method, path, sent] of [
      ['PATCH', `/stream/${stream.id}`, body],
      ['POST', '/stream', { name: 'x', ...body }],
    ] as const) {
      const response = await api.call(method, path, { key, body: sent });
      assert.equal(response.statusCode, 422, `${method} ${JSON.stringify(body).slice(0, 80)}: ${response.body}`);
      assert.match(response.json().errors[0], names);
      assert.ok(!response.body.includes('secretName'), 'names that the client chose are not repeated');
    }
  }
  for (const body of [{ name: null }, { name: '' }, { suspended: 'yes' }, [], { isActive: true }]) {
    assert.equal((await api.call('PATCH', `/stream/${stream.id}`, { key, body })).statusCode, 422);
  }
  assert.deepEqual(await read(api, key, stream.id), stream);
});

test('profiles and record cannot change while media is received, and all other fields can', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = await create(api, key);
  await api.store.streams.setActivity(id, { isActive: true, lastSeen: ms(1), health: undefined });
  for (const [path, body] of [
    ['', { profiles: [profile] }],
    ['', { name: 'y', record: false }],
    ['/record', { record: true }],
  ] as const) {
    const response = await api.call('PATCH', `/stream/${id}${path}`, { key, body });
    assert.equal(response.statusCode, 409);
    assert.match(response.json().errors[0], /is active/);
  }
  assert.equal((await read(api, key, id)).name, 'x', 'a refused change changes nothing');
  const body = { name: 'y', userTags: { a: 1 }, suspended: true };
  assert.equal((await api.call('PATCH', `/stream/${id}`, { key, body })).statusCode, 204);
});

test('suspended and record have paths of their own', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, playbackId } = await create(api, key);
  assert.equal(
    (await api.call('PATCH', `/stream/${id}/suspended`, { key, body: { suspended: true } })).statusCode,
    204,
  );
  assert.equal((await api.call('PATCH', `/stream/${id}/record`, { key, body: { record: true } })).statusCode, 204);
  const { suspended, record } = await read(api, key, id);
  assert.deepEqual([suspended, record], [true, true]);
  assert.equal((await api.call('GET', `/playback/${playbackId}`)).statusCode, 404);
  await api.call('PATCH', `/stream/${id}/suspended`, { key, body: { suspended: false } });
  assert.equal((await api.call('GET', `/playback/${playbackId}`)).statusCode, 200);
  for (const [path, body] of [
    ['suspended', {}],
    ['record', { record: 'true' }],
    ['record', { record: true, suspended: true }],
  ] as const) {
    assert.equal((await api.call('PATCH', `/stream/${id}/${path}`, { key, body })).statusCode, 422);
  }
});

test('a deleted stream is gone except for its sessions, and cannot be deleted twice', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, playbackId, streamKey } = await create(api, key);
  const session = someSession((await api.store.streams.get(id, 'everyone'))!, { phase: 'ended', endedAt: ms(9) });
  await api.store.sessions.create(session);
  const headers = { 'content-type': 'application/json' }; // as axios sends it without a body
  assert.equal((await api.call('DELETE', `/stream/${id}`, { key, headers })).statusCode, 204);
  for (const [method, path] of [
    ['GET', `/stream/${id}`],
    ['PATCH', `/stream/${id}`],
    ['DELETE', `/stream/${id}`],
    ['DELETE', `/stream/${id}/terminate`],
    ['POST', `/stream/${id}/rotate-key`],
    ['GET', `/stream/${id}/sessions`],
    ['GET', `/stream/${id}/info`],
    ['GET', `/stream/playback/${playbackId}`],
    ['GET', `/stream/key/${streamKey}`],
    ['GET', `/playback/${playbackId}`],
  ] as const) {
    const response = await api.call(method, path, { key, ...(method === 'PATCH' && { body: { name: 'y' } }) });
    assert.equal(response.statusCode, 404, `${method} ${path}: ${response.body}`);
  }
  assert.deepEqual((await api.call('GET', '/stream', { key })).json(), []);
  assert.equal((await api.call('GET', `/session/${session.id}`, { key })).json().parentId, id);
  assert.deepEqual(
    (await auditOf(api, id)).map(({ action }) => action),
    ['stream.created', 'stream.deleted'],
  );
});

test('many streams are deleted all together or not at all', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const [one, two, other] = [await create(api, ann), await create(api, ann), await create(api, bob)];
  const remove = (ids: unknown) => api.call('DELETE', '/stream', { key: ann, body: { ids } });
  for (const stranger of [other.id, '00000000-0000-4000-8000-000000000000', 'x']) {
    assert.equal((await remove([one.id, stranger])).statusCode, 404, stranger);
  }
  assert.equal((await api.call('GET', '/stream', { key: ann })).json().length, 2);
  for (const ids of [undefined, [], [7], [one.id, one.id], 'x', Array(1001).fill('x'), ['x'.repeat(37)]]) {
    assert.equal((await remove(ids)).statusCode, 422, String(ids).slice(0, 50));
  }
  assert.equal((await remove([one.id, two.id])).statusCode, 204);
  assert.deepEqual((await api.call('GET', '/stream', { key: ann })).json(), []);
  assert.equal((await auditOf(api, two.id)).at(-1)?.action, 'stream.deleted');
});

test('a broadcast can be terminated at most once in five seconds, also while there is none', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = await create(api, key);
  const terminate = () => api.call('DELETE', `/stream/${id}/terminate`, { key });
  const terminations = async () => (await api.store.streams.get(id as StreamId, 'everyone'))?.terminations;
  const heard: string[] = [];
  using _listening = api.store.listen(({ type }) => heard.push(type));
  assert.equal((await terminate()).statusCode, 204);
  assert.equal(await terminations(), 1);
  assert.equal((await read(api, key, id)).lastTerminatedAt, api.time.now);
  api.time.now += 3500;
  const refused = await terminate();
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.json().code, 'too_many_terminates');
  assert.equal(refused.headers['retry-after'], '2');
  api.time.now += 1500;
  assert.equal((await terminate()).statusCode, 204);
  assert.equal(await terminations(), 2);
  assert.deepEqual(
    heard.filter((type) => type !== 'events_added'),
    ['stream_changed', 'stream_changed'],
  );
});

test('a rotated key replaces the old one at once, and nothing else', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const stream = await create(api, key);
  const response = await api.call('POST', `/stream/${stream.id}/rotate-key`, { key });
  assert.equal(response.statusCode, 200);
  const { streamKey, ...rest } = response.json();
  const { streamKey: old, ...same } = stream;
  assert.match(streamKey, /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
  assert.notEqual(streamKey, old);
  assert.deepEqual(rest, same);
  assert.equal((await api.call('GET', `/stream/key/${streamKey}`, { key })).json().id, stream.id);
  assert.equal((await api.call('GET', `/stream/key/${old}`, { key })).statusCode, 404);
  assert.deepEqual((await auditOf(api, stream.id)).at(-1)?.action, 'stream.key_rotated');
});

test('a session cannot be changed with the routes of its stream', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = await create(api, key);
  const session = someSession((await api.store.streams.get(id, 'everyone'))!);
  await api.store.sessions.create(session);
  for (const [method, path, body] of [
    ['PATCH', '', { name: 'y' }],
    ['PATCH', '', {}],
    ['PATCH', '/suspended', { suspended: true }],
    ['PATCH', '/record', { record: true }],
    ['DELETE', '', undefined],
    ['DELETE', '/terminate', undefined],
    ['POST', '/rotate-key', undefined],
  ] as const) {
    const response = await api.call(method, `/stream/${session.id}${path}`, { key, body });
    assert.equal(response.statusCode, 400, `${method} ${path}`);
    assert.match(response.json().errors[0], /^This id belongs to a session/);
  }
});

test('every change is refused to another user as if the stream did not exist, also to an admin who does not name its user', async (t) => {
  const api = await startApi(t);
  const [ann, bob, admin] = [await api.makeKey('ann'), await api.makeKey('bob'), await api.makeKey('admin')];
  const { id } = await create(api, ann);
  for (const [method, path, body] of [
    ['PATCH', '', { name: 'y' }],
    ['PATCH', '/suspended', { suspended: true }],
    ['DELETE', '/terminate', undefined],
    ['POST', '/rotate-key', undefined],
    ['DELETE', '', undefined],
  ] as const) {
    const url = `/stream/${id}${path}`;
    for (const key of [bob, admin]) assert.equal((await api.call(method, url, { key, body })).statusCode, 404, url);
    const { statusCode } = await api.call(method, `${url}?userId=${ann.userId}`, { key: admin, body });
    assert.ok(statusCode === 204 || statusCode === 200, 'an admin who names the user does what that user may');
  }
});

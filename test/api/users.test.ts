import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from './server.ts';

const UNKNOWN = '66e2161c-7670-4d05-b71d-da2d6979556f';

test('an admin creates, lists, gets, renames and suspends users', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  const created = await api.call('POST', '/user', { key, body: { name: 'ann' } });
  assert.equal(created.statusCode, 201);
  const ann = created.json();
  assert.deepEqual(ann, {
    id: ann.id,
    kind: 'user',
    name: 'ann',
    admin: false,
    suspended: false,
    createdAt: api.time.now,
    quotas: { ...api.config.quotas },
  });
  assert.equal((await api.call('POST', '/user', { key, body: { name: 'ann' } })).statusCode, 409);
  const change = (body: object) => api.call('PATCH', `/user/${ann.id}`, { key, body });
  const now = async () => {
    const { usage, ...user } = (await api.call('GET', `/user/${ann.id}`, { key })).json();
    assert.ok(usage);
    return user;
  };
  assert.equal((await change({ name: 'anne', suspended: true })).statusCode, 204);
  assert.deepEqual(await now(), { ...ann, name: 'anne', suspended: true });
  assert.equal((await change({ name: 'admin' })).statusCode, 409);
  assert.equal((await change({})).statusCode, 204);
  assert.equal((await change({ admin: true, suspended: false })).statusCode, 204);
  const { quotas } = await now();
  assert.deepEqual(await now(), { ...ann, name: 'anne', admin: true, quotas });
  assert.deepEqual(new Set(Object.values(quotas)), new Set([0]), 'admins have no limits');
  const list = await api.call('GET', '/user?limit=1', { key });
  assert.deepEqual(
    list.json().map(({ name }: { name: string }) => name),
    ['anne'],
  );
  const next = String(list.headers.link).match(/<[^>]*\/api(\/[^>]*)>/)![1]!;
  const rest = await api.call('GET', next, { key });
  assert.deepEqual(
    rest.json().map(({ name }: { name: string }) => name),
    ['admin'],
    'the newest comes first',
  );
  assert.match(String(list.headers.link), /\/api\/user\?limit=1&cursor=[\w-]+>; rel="next"$/);
});

test('admins set quotas one by one, users see those that apply to them, and the audit log names the changed ones', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_STREAMS: '7' });
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const change = (quotas: object) => api.call('PATCH', `/user/${ann.userId}`, { key: admin, body: { quotas } });
  const mine = async () => (await api.call('GET', '/user/me', { key: ann })).json().quotas;
  const defaults = { ...api.config.quotas };
  assert.deepEqual(await mine(), { ...defaults, streams: 7 });
  assert.equal((await change({ streams: 9, viewers: 0 })).statusCode, 204);
  assert.deepEqual(await mine(), { ...defaults, streams: 9, viewers: 0 });
  assert.equal((await change({ streams: null, apiKeys: 3 })).statusCode, 204);
  assert.deepEqual(await mine(), { ...defaults, viewers: 0, apiKeys: 3 });
  const entries = (await api.call('GET', '/audit', { key: admin })).json();
  assert.deepEqual(entries[0].fields, ['quotas.streams', 'quotas.apiKeys']);
  for (const quotas of [{ streams: -1 }, { streams: 1.5 }, { streams: '9' }, { colours: 1 }, 7]) {
    assert.equal((await change(quotas as object)).json().code, 'invalid_body', JSON.stringify(quotas));
  }
  const made = await api.call('POST', '/user', { key: admin, body: { name: 'bob', quotas: { publishers: 2 } } });
  assert.deepEqual(made.json().quotas, { ...defaults, publishers: 2 });
});

test('usage is shown to the user and to admins, and only in answers about one user', async (t) => {
  const api = await startApi(t);
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const revoked = await api.makeKey('ann', 'revoked');
  await api.revoke(revoked);
  for (const name of ['one', 'two', 'three']) await api.call('POST', '/stream', { key: ann, body: { name } });
  const [first] = (await api.call('GET', '/stream', { key: ann })).json();
  await api.call('DELETE', `/stream/${first.id}`, { key: ann });
  const stored = { streams: 2, apiKeys: 1, clips: 0, recordingGib: 0, webhooks: 0 };
  const usage = { ...stored, publishers: 3, transcodes: 2, mediaMemoryMib: 5, viewers: 4 };
  assert.deepEqual((await api.call('GET', '/user/me', { key: ann })).json().usage, usage);
  assert.deepEqual((await api.call('GET', `/user/${ann.userId}`, { key: admin })).json().usage, usage);
  for (const user of (await api.call('GET', '/user', { key: admin })).json()) assert.ok(!('usage' in user));
});

test('of two admins who change different quotas of a user at once, neither undoes the other', async (t) => {
  let readers = 0;
  const bothHaveRead = Promise.withResolvers<void>();
  // Each request continues only after both have read the user.
  const meet = async (path: string) => {
    if (!path.startsWith('meet')) return;
    readers += 1;
    if (readers === 2) bothHaveRead.resolve();
    await bothHaveRead.promise;
  };
  const api = await startApi(t, {}, (store) => ({
    ...store,
    users: {
      ...store.users,
      async get(id) {
        const user = await store.users.get(id);
        if (user !== undefined) await meet(user.name);
        return user;
      },
    },
  }));
  const admin = await api.makeKey('admin');
  const { id } = (await api.call('POST', '/user', { key: admin, body: { name: 'meet' } })).json();
  const change = (quotas: object) => api.call('PATCH', `/user/${id}`, { key: admin, body: { quotas } });
  const answers = await Promise.all([change({ streams: 5 }), change({ viewers: 6 })]);
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [204, 204],
  );
  assert.deepEqual((await api.store.users.get(id))?.quotas, { streams: 5, viewers: 6 });
});

test('unknown users are answered 404, and invalid bodies 422', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  for (const id of [UNKNOWN, 'me2']) {
    assert.equal((await api.call('GET', `/user/${id}`, { key })).statusCode, 404);
    for (const body of [{}, { name: 'x' }, { suspended: true }]) {
      assert.equal((await api.call('PATCH', `/user/${id}`, { key, body })).statusCode, 404);
    }
  }
  for (const body of [
    {},
    { name: '' },
    { name: ' a' },
    { name: 'a\nb' },
    { name: 'a'.repeat(101) },
    { name: 'a', id: UNKNOWN },
  ]) {
    assert.equal((await api.call('POST', '/user', { key, body })).statusCode, 422, JSON.stringify(body));
  }
});

test('others may not manage users, but may read their own user', async (t) => {
  const api = await startApi(t);
  await api.makeKey('admin');
  const key = await api.makeKey('ann');
  for (const [method, path, body] of [
    ['GET', '/user', undefined],
    ['POST', '/user', '{'],
    ['GET', `/user/${key.userId}`, undefined],
    ['GET', `/user/${UNKNOWN}`, undefined],
    ['PATCH', `/user/${key.userId}`, { admin: true }],
    ['PATCH', `/user/${UNKNOWN}`, {}],
    ['GET', '/audit', undefined],
  ] as const) {
    const refused = await api.call(method, path, { key, body });
    assert.equal(refused.statusCode, 403, `${method} ${path}`);
    assert.equal(refused.json().code, 'admin_only');
  }
  const me = (await api.call('GET', '/user/me', { key })).json();
  assert.deepEqual([me.id, me.name, me.admin], [key.userId, 'ann', false]);
});

test('the keys of a suspended user are refused from the next request on, until it is resumed', async (t) => {
  const api = await startApi(t);
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const suspend = (suspended: boolean) => api.call('PATCH', `/user/${ann.userId}`, { key: admin, body: { suspended } });
  assert.equal((await api.call('GET', '/stream', { key: ann })).statusCode, 200);
  await suspend(true);
  const refused = await api.call('POST', '/stream', { key: ann, body: '{' });
  assert.equal(refused.statusCode, 403);
  assert.equal(refused.json().code, 'user_suspended');
  await suspend(false);
  assert.equal((await api.call('GET', '/stream', { key: ann })).statusCode, 200);
});

test('the last active admin can be neither suspended nor demoted', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  const change = (id: string, body: object) => api.call('PATCH', `/user/${id}`, { key, body });
  for (const body of [{ admin: false }, { suspended: true }, { name: 'x', admin: false }]) {
    const refused = await change(key.userId, body);
    assert.equal(refused.statusCode, 409, JSON.stringify(body));
    assert.equal(refused.json().code, 'conflict');
  }
  assert.equal((await change(key.userId, { name: 'root', suspended: false, admin: true })).statusCode, 204);

  const other = (await api.call('POST', '/user', { key, body: { name: 'other', admin: true } })).json();
  assert.equal((await change(other.id, { suspended: true })).statusCode, 204, 'one is left');
  assert.equal((await change(key.userId, { admin: false })).statusCode, 409, 'a suspended admin is no way in');
  assert.equal((await change(other.id, { suspended: false })).statusCode, 204);
  const both = await Promise.all([key.userId, other.id].map((id) => change(id, { suspended: true })));
  assert.equal(both.filter(({ statusCode }) => statusCode === 204).length, 1);
  const admins = (await api.store.users.list({ limit: 10 })).rows.filter(
    ({ isAdmin, suspended }) => isAdmin && !suspended,
  );
  assert.equal(admins.length, 1);
});

test('a user may have as many streams and API keys as its quotas allow', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_STREAMS: '2', MILLRACE_QUOTA_API_KEYS: '2' });
  const key = await api.makeKey('ann');
  for (const [path, allowed] of [
    ['/stream', 2],
    ['/api-token', 1], // beside the one in use
  ] as const) {
    for (let number = 1; number <= allowed + 1; number++) {
      const { statusCode, body } = await api.call('POST', path, { key, body: { name: `number ${number}` } });
      if (number <= allowed) assert.equal(statusCode, 201, body);
      else assert.deepEqual([statusCode, JSON.parse(body).code], [403, 'quota_exceeded'], path);
    }
  }
});

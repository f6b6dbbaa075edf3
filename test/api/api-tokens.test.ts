import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessRule } from '#domain/user.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** Makes a key over HTTP. */
async function create(
  api: TestApi,
  key: TestKey,
  body?: object,
): Promise<TestKey & { answer: Record<string, unknown> }> {
  const response = await api.call('POST', '/api-token', { key, ...(body && { body }) });
  assert.equal(response.statusCode, 201, response.body);
  const answer = response.json();
  return { userId: answer.userId, id: answer.id, secret: answer.key, answer };
}

const reader: AccessRule[] = [{ resources: ['stream', 'stream/:id'], methods: ['get'] }];

test('a key is shown once, and works', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann', 'first');
  const made = await create(api, ann, { name: 'second', access: { rules: reader } });
  const { key, ...rest } = made.answer;
  assert.match(String(key), /^millrace_[\w-]{43}$/);
  const expected = {
    id: made.id,
    kind: 'api-token',
    name: 'second',
    userId: ann.userId,
    createdAt: api.time.now,
    lastSeen: 0,
    access: { rules: reader },
  };
  assert.deepEqual(rest, expected);
  const answers = [
    await api.call('GET', `/api-token/${made.id}`, { key: ann }),
    await api.call('GET', '/api-token', { key: ann }),
  ];
  assert.deepEqual(answers[0]!.json(), expected);
  assert.deepEqual(
    answers[1]!.json().map(({ name }: { name: string }) => name),
    ['second', 'first'],
  );
  for (const { body } of answers) assert.ok(!body.includes(String(key)));
  assert.equal((await api.call('GET', '/stream', { key: made })).statusCode, 200);
});

test('without a body the key gets a random name and may do what its creator may', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const [first, second] = [await create(api, ann), await create(api, ann, {})];
  assert.match(String(first.answer.name), /^key-\w{8}$/);
  assert.notEqual(first.answer.name, second.answer.name);
  assert.ok(!('access' in first.answer));
});

test('a name is unique among the keys of a user, and free again once its key is revoked', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const made = await create(api, ann, { name: 'x' });
  const taken = await api.call('POST', '/api-token', { key: ann, body: { name: 'x' } });
  assert.equal(taken.statusCode, 409);
  assert.equal(taken.json().code, 'conflict');
  await create(api, bob, { name: 'x' });
  assert.equal((await api.call('DELETE', `/api-token/${made.id}`, { key: ann })).statusCode, 204);
  await create(api, ann, { name: 'x' });
});

test('a deleted key fails at the next request; a key may delete itself', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const other = await create(api, ann);
  assert.equal((await api.call('DELETE', `/api-token/${other.id}`, { key: ann })).statusCode, 204);
  assert.equal((await api.call('GET', '/stream', { key: other })).statusCode, 401);
  assert.equal((await api.call('DELETE', `/api-token/${other.id}`, { key: ann })).statusCode, 404);
  assert.equal((await api.call('DELETE', `/api-token/${ann.id}`, { key: ann })).statusCode, 204);
  assert.equal((await api.call('GET', '/stream', { key: ann })).statusCode, 401);
});

test('keys of another user get the same answer as keys that do not exist, and an admin sees all', async (t) => {
  const api = await startApi(t);
  const [ann, bob, admin] = [await api.makeKey('ann'), await api.makeKey('bob'), await api.makeKey('admin')];
  for (const method of ['GET', 'DELETE'] as const) {
    const foreign = await api.call(method, `/api-token/${ann.id}`, { key: bob });
    const unknown = await api.call(method, '/api-token/66e2161c-7670-4d05-b71d-da2d6979556f', { key: bob });
    assert.equal(foreign.statusCode, 404);
    assert.deepEqual(foreign.json().errors, unknown.json().errors);
  }
  assert.equal((await api.call('GET', `/api-token?userId=${ann.userId}`, { key: bob })).json().code, 'admin_only');
  assert.equal((await api.call('GET', `/api-token?userId=${bob.userId}`, { key: bob })).json().length, 1);
  const foreign = await api.call('POST', '/api-token', { key: bob, body: { userId: ann.userId } });
  const nobody = await api.call('POST', '/api-token', { key: bob, body: { userId: 'x' } });
  assert.deepEqual([foreign.json().code, nobody.json().code], ['admin_only', 'admin_only']);

  assert.deepEqual(
    (await api.call('GET', `/api-token?userId=${ann.userId}`, { key: admin })).json().map(({ id }: TestKey) => id),
    [ann.id],
  );
  assert.equal((await create(api, admin, { userId: ann.userId, name: 'given' })).userId, ann.userId);
  const unknown = await api.call('POST', '/api-token', { key: admin, body: { userId: 'x' } });
  assert.equal(unknown.json().code, 'invalid_body');
  assert.equal((await api.call('DELETE', `/api-token/${ann.id}`, { key: admin })).statusCode, 204);
});

test('lists of keys go page by page', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann', 'key 0');
  for (let count = 1; count < 5; count += 1) await create(api, ann, { name: `key ${count}` });
  const names: string[] = [];
  let path: string | undefined = '/api-token?limit=2';
  while (path !== undefined) {
    const page = await api.call('GET', path, { key: ann });
    names.push(...page.json().map(({ name }: { name: string }) => name));
    path = /<http:\/\/[^/]+\/api([^>]+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1];
  }
  assert.deepEqual(names.toSorted(), ['key 0', 'key 1', 'key 2', 'key 3', 'key 4']);
});

test('a request that the rules of a key do not allow is answered 403 before its body is read', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const { id } = (await api.call('POST', '/stream', { key: ann, body: { name: 'x' } })).json();
  const key = await create(api, ann, { access: { rules: reader } });
  for (const path of ['/stream', `/stream/${id}`]) {
    assert.equal((await api.call('GET', path, { key })).statusCode, 200, path);
    assert.equal((await api.call('HEAD', path, { key })).statusCode, 200, path);
  }
  const refused = await api.call('POST', '/stream', { key, body: '{' });
  assert.equal(refused.statusCode, 403);
  assert.equal(refused.json().code, 'insufficient_scope');
  assert.match(refused.json().errors[0], /POST \/stream;/);
  const hidden = await api.call('GET', `/api-token/${ann.id}`, { key });
  assert.match(hidden.json().errors[0], /GET \/api-token\/:id;/);
  assert.ok(!hidden.body.includes(ann.id));

  const nothing = await create(api, ann, { access: { rules: [] } });
  assert.equal((await api.call('GET', '/user/me', { key: nothing })).statusCode, 403);
  assert.equal(
    (await api.call('GET', '/ingest', { key: nothing })).statusCode,
    200,
    'what needs no key needs no scope',
  );
});

test('a rule applies to the path as the router parses it, however it is written', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const { id } = (await api.call('POST', '/stream', { key: ann, body: { name: 'x' } })).json();
  const one = await create(api, ann, { access: { rules: [{ resources: [`stream/${id}`] }] } });
  assert.equal((await api.call('GET', `/stream/${id}`, { key: one })).statusCode, 200);
  assert.equal((await api.call('GET', `/stream/${id}/?x=1`, { key: one })).statusCode, 200);
  assert.equal((await api.call('GET', `/%73tream/${id}`, { key: one })).statusCode, 200);
  assert.equal((await api.call('GET', '/stream', { key: one })).statusCode, 403);
  assert.equal((await api.call('GET', `/stream/${ann.id}`, { key: one })).statusCode, 403);
  assert.equal((await api.call('GET', '/stream/%3Aid', { key: one })).statusCode, 403);
  assert.equal((await api.call('GET', '/%73tream', { key: one })).statusCode, 403);
});

test('a key never grants more than it has', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const rules = [...reader, { resources: ['api-token'], methods: ['post'] }];
  const limited = await create(api, ann, { access: { rules } });
  await create(api, limited, { access: { rules: reader } });
  await create(api, limited, { access: { rules: [] } });
  for (const body of [
    {},
    { access: { rules: [{ resources: ['*'] }] } },
    { access: { rules: [...reader, { resources: ['stream'], methods: ['post'] }] } },
    { access: { rules: [{ resources: ['stream/*'], methods: ['get'] }] } },
  ]) {
    const refused = await api.call('POST', '/api-token', { key: limited, body });
    assert.equal(refused.statusCode, 403, JSON.stringify(body));
    assert.equal(refused.json().code, 'insufficient_scope');
  }
});

test('invalid rules are refused with the field and how to correct it', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (const [access, field] of [
    [{ rules: [{ resources: ['stream?active=1'] }] }, 'access.rules[0].resources[0]'],
    [{ rules: [{ resources: ['stream', 'a/*/b'] }] }, 'access.rules[0].resources[1]'],
    [{ rules: [{ resources: ['stream'], methods: ['GET'] }] }, 'access.rules[0].methods[0]'],
    [{ rules: [{ resources: ['stream'], methods: [] }] }, 'access.rules[0].methods'],
    [{ rules: 'stream' }, 'access.rules'],
    [{ rules: [], cors: { allowedOrigins: ['*'] } }, 'access.cors'],
    [{}, 'access.rules'],
  ] as const) {
    const refused = await api.call('POST', '/api-token', { key, body: { access } });
    assert.equal(refused.statusCode, 422, JSON.stringify(access));
    assert.ok(refused.json().errors[0].startsWith(`The field ${field} `), refused.body);
  }
});

test('the last use of a key is known after a while, and after a restart', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  await api.call('GET', '/stream', { key: ann });
  api.time.now += 5000;
  await api.call('GET', '/stream', { key: ann });
  await api.http.close();
  const stored = await api.store.apiKeys.get(ann.id, 'everyone');
  assert.equal(stored?.lastSeen, api.time.now);
});

test('a key is created without a body, but not with a body that is not an object', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  assert.equal((await api.call('POST', '/api-token', { key })).statusCode, 201);
  for (const body of ['null', '[]', '"x"'])
    assert.equal((await api.call('POST', '/api-token', { key, body })).statusCode, 422, body);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { MillraceError } from '#domain/errors.ts';
import type { Store } from '#store/store.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** Sends a POST with an `Idempotency-Key`. */
const post = (api: TestApi, key: TestKey, idempotencyKey: string, body: unknown, path = '/stream') =>
  api.call('POST', path, { key, body, headers: { 'idempotency-key': idempotencyKey } });

const countStreams = async (api: TestApi, key: TestKey): Promise<number> =>
  (await api.call('GET', '/stream?limit=1000', { key })).json().length;

test('a repeat gets the same answer and changes nothing', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const first = await post(api, key, 'a', { name: 'x' });
  assert.equal(first.statusCode, 201);
  assert.equal(first.headers['idempotency-replayed'], undefined);
  api.time.now += 23 * 3600 * 1000;
  const again = await post(api, key, 'a', '{ "name": "x" }');
  assert.equal(again.statusCode, 201);
  assert.equal(again.body, first.body);
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.equal(again.headers['content-type'], first.headers['content-type']);
  assert.equal(await countStreams(api, key), 1);

  api.time.now += 2 * 3600 * 1000;
  const later = await post(api, key, 'a', { name: 'x' });
  assert.notEqual(later.json().id, first.json().id, 'after a day it is a new request');
});

test('another body, path or API key with the same Idempotency-Key is refused; another user, route or key is not', async (t) => {
  const api = await startApi(t);
  const [ann, second, bob] = [await api.makeKey('ann'), await api.makeKey('ann', 'second'), await api.makeKey('bob')];
  const { id } = (await post(api, ann, 'a', { name: 'x' })).json();
  const other = (await post(api, ann, 'b', { name: 'x' })).json();
  for (const refused of [await post(api, ann, 'a', { name: 'y' }), await post(api, second, 'a', { name: 'x' })]) {
    assert.equal(refused.statusCode, 422);
    assert.equal(refused.json().code, 'idempotency_key_reused');
  }
  assert.equal((await post(api, bob, 'a', { name: 'y' })).statusCode, 201);
  assert.equal((await post(api, ann, 'a', undefined, `/stream/${id}/rotate-key`)).statusCode, 200);
  const elsewhere = await post(api, ann, 'a', undefined, `/stream/${other.id}/rotate-key`);
  assert.equal(elsewhere.json().code, 'idempotency_key_reused');
});

test('a new API key is repeated to the sender of the request, and is nowhere in the store', async (t) => {
  const stored: unknown[] = [];
  const api = await startApi(t, {}, (store) => ({
    ...store,
    apiKeys: {
      ...store.apiKeys,
      create: (...args: Parameters<Store['apiKeys']['create']>) => {
        stored.push(args);
        return store.apiKeys.create(...args);
      },
    },
  }));
  const key = await api.makeKey('ann');
  const [first, again] = [
    await post(api, key, 'a', undefined, '/api-token'),
    await post(api, key, 'a', undefined, '/api-token'),
  ];
  const secret: string = first.json().key;
  assert.equal(again.json().key, secret);
  assert.equal(stored.length, 1);
  const text = JSON.stringify(stored);
  assert.match(text, /"sealed":"[\w-]{100,}"/);
  const decoded = text.replaceAll(/"sealed":"([^"]+)"/g, (_, sealed: string) =>
    Buffer.from(sealed, 'base64url').toString(),
  );
  for (const each of [text, decoded])
    assert.ok(!each.includes(secret) && !each.includes(secret.slice('millrace_'.length)));
});

test('concurrent equal requests create one object and get one answer', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const twins = await Promise.all(Array.from({ length: 8 }, () => post(api, key, 'a', { name: 'x' })));
  assert.deepEqual(new Set(twins.map(({ statusCode }) => statusCode)), new Set([201]));
  assert.equal(new Set(twins.map(({ body }) => body)).size, 1);
  assert.equal(twins.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 7);
  assert.equal(await countStreams(api, key), 1);
});

/** An API whose first creation of a stream hangs until the test releases it. */
async function hangingApi(t: TestContext) {
  const hanging = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let count = 0;
  const api = await startApi(t, {}, (store) => ({
    ...store,
    streams: {
      ...store.streams,
      create: async (...args) => {
        count += 1;
        if (count === 1) {
          begun.resolve();
          await hanging.promise;
        }
        return store.streams.create(...args);
      },
    },
  }));
  return { api, begun: begun.promise, goOn: hanging.resolve };
}

test('a repeat waits until the first request is done, in any process', async (t) => {
  const { api, begun, goOn } = await hangingApi(t);
  const key = await api.makeKey('ann');
  const first = post(api, key, 'a', { name: 'x' });
  await begun;
  const twin = post(api, key, 'a', { name: 'x' });
  const other = await post(api, key, 'b', { name: 'other' });
  assert.equal(other.statusCode, 201, 'nobody else waits');
  goOn();
  assert.equal((await twin).body, (await first).body);
  assert.equal((await twin).headers['idempotency-replayed'], 'true');
});

test('a minute after its process died a request is carried out by a repeat, and no longer by the first', async (t) => {
  const { api, begun, goOn } = await hangingApi(t);
  const key = await api.makeKey('ann');
  const first = post(api, key, 'a', { name: 'x' });
  await begun;
  api.time.now += 60_001;
  const second = await post(api, key, 'a', { name: 'x' });
  assert.equal(second.statusCode, 201);
  assert.equal(second.headers['idempotency-replayed'], undefined);
  goOn();
  assert.equal((await first).statusCode, 409);
  assert.equal(await countStreams(api, key), 1);
});

test('a repeat that has waited too long is told when to try again', async (t) => {
  const api = await startApi(t, {}, (store) => ({
    ...store,
    idempotency: { ...store.idempotency, claim: () => Promise.resolve({ state: 'pending' }) },
  }));
  const key = await api.makeKey('ann');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answer = { isThere: false };
  const twin = post(api, key, 'a', { name: 'x' }).finally(() => {
    answer.isThere = true;
  });
  const deadlineMs = performance.now() + 120_000;
  while (!answer.isThere) {
    assert.ok(performance.now() < deadlineMs, 'the repeat is answered');
    t.mock.timers.tick(100);
    await setImmediate();
  }
  t.mock.timers.reset();
  const refused = await twin;
  assert.equal(refused.statusCode, 409);
  assert.equal(refused.headers['retry-after'], '5');
});

test('a refused request may be sent again, corrected or not', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  await api.call('POST', '/user', { key, body: { name: 'taken' } });
  const refused = await post(api, key, 'a', { name: 'taken' }, '/user');
  assert.equal(refused.statusCode, 409);
  assert.equal((await post(api, key, 'a', { name: 'taken' }, '/user')).statusCode, 409);
  assert.equal((await post(api, key, 'a', { name: '' }, '/user')).statusCode, 422);
  assert.equal((await post(api, key, 'a', { name: 'free' }, '/user')).statusCode, 201);
});

test('an Idempotency-Key is 1 to 255 printable characters', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (const bad of ['', 'a'.repeat(256), 'a\tb', 'ü']) {
    const refused = await post(api, key, bad, { name: 'x' });
    assert.equal(refused.statusCode, 400, bad);
    assert.match(refused.json().errors[0], /^The header idempotency-key must .*; send 1 to 255 /);
  }
  for (const good of ['a', 'a'.repeat(255), '{"a" b}~'])
    assert.equal((await post(api, key, good, { name: 'x' })).statusCode, 201);
});

test('during an outage of the store a repeat is refused with 503, and carried out after it', async (t) => {
  const state = { isAway: false };
  const api = await startApi(t, {}, (store) => ({
    ...store,
    streams: {
      ...store.streams,
      create: (...args: Parameters<Store['streams']['create']>) =>
        state.isAway
          ? Promise.reject(new MillraceError('store_unavailable', 'The store is away.'))
          : store.streams.create(...args),
    },
  }));
  const key = await api.makeKey('ann');
  state.isAway = true;
  assert.equal((await post(api, key, 'a', { name: 'x' })).statusCode, 503);
  state.isAway = false;
  const done = await post(api, key, 'a', { name: 'x' });
  assert.equal(done.statusCode, 201);
  assert.equal(done.headers['idempotency-replayed'], undefined);
});

test('a repeated PATCH or DELETE gets the same answer without a body, and nothing is changed twice', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  const made = [];
  for (const name of ['a', 'b', 'c']) made.push((await api.call('POST', '/stream', { key, body: { name } })).json());
  const token = (await api.call('POST', '/api-token', { key, body: {} })).json();
  const user = (await api.call('POST', '/user', { key, body: { name: 'ann' } })).json();
  for (const [method, path, body] of [
    ['PATCH', `/stream/${made[0].id}`, { name: 'changed' }],
    ['PATCH', `/stream/${made[0].id}/suspended`, { suspended: true }],
    ['PATCH', `/stream/${made[0].id}/record`, { record: true }],
    ['PATCH', `/user/${user.id}`, { quotas: { streams: 1 } }],
    ['DELETE', `/stream/${made[0].id}/terminate`, undefined],
    ['DELETE', `/stream/${made[0].id}`, undefined],
    ['DELETE', '/stream', { ids: [made[1].id, made[2].id] }],
    ['DELETE', `/api-token/${token.id}`, undefined],
  ] as const) {
    const send = () => api.call(method, path, { key, body, headers: { 'idempotency-key': `${method} ${path}` } });
    const count = async () => (await api.call('GET', '/audit?limit=1000', { key })).json().length;
    const first = await send();
    assert.equal(first.statusCode, 204, `${path} ${first.body}`);
    const before = await count();
    const again = await send();
    assert.deepEqual([again.statusCode, again.body, again.headers['idempotency-replayed']], [204, '', 'true'], path);
    assert.equal(await count(), before, path);
  }
});

test('a request that changes nothing can be repeated at once', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  for (let round = 0; round < 2; round += 1) {
    const answer = await api.call('PATCH', `/stream/${id}`, { key, body: {}, headers: { 'idempotency-key': 'a' } });
    assert.equal(answer.statusCode, 204);
  }
});

test('a request whose outcome is unknown, but which was carried out, is not carried out again by a repeat', async (t) => {
  const state = { isSlow: true };
  const api = await startApi(t, {}, (store) => ({
    ...store,
    streams: {
      ...store.streams,
      create: async (...args: Parameters<Store['streams']['create']>) => {
        await store.streams.create(...args);
        if (state.isSlow) throw new MillraceError('outcome_unknown', 'It may have been done; repeat the request.');
      },
    },
  }));
  const key = await api.makeKey('ann');
  const first = await post(api, key, 'a', { name: 'x' });
  assert.equal(first.statusCode, 504);
  assert.equal(first.json().code, 'outcome_unknown');
  state.isSlow = false;
  const again = await post(api, key, 'a', { name: 'x' });
  assert.equal(again.statusCode, 201);
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.equal(await countStreams(api, key), 1);
});

test('a request whose outcome is unknown, and which was not carried out, keeps its claim until the claim expires', async (t) => {
  const state = { isSlow: true };
  const released: unknown[] = [];
  const api = await startApi(t, {}, (store) => ({
    ...store,
    idempotency: {
      ...store.idempotency,
      release: async (claim) => {
        released.push(claim);
        await store.idempotency.release(claim);
      },
    },
    streams: {
      ...store.streams,
      create: (...args: Parameters<Store['streams']['create']>) =>
        state.isSlow
          ? Promise.reject(new MillraceError('outcome_unknown', 'It may have been done; repeat the request.'))
          : store.streams.create(...args),
    },
  }));
  const key = await api.makeKey('ann');
  assert.equal((await post(api, key, 'a', { name: 'x' })).statusCode, 504);
  assert.deepEqual(released, []);
  state.isSlow = false;
  api.time.now += 60_001;
  assert.equal((await post(api, key, 'a', { name: 'x' })).statusCode, 201);
});

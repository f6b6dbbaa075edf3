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

test('a repeat gets the same answer and does nothing', async (t) => {
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

test('a new API key comes again to who asked for it, and is nowhere in the store', async (t) => {
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

test('twins at the same moment make one thing and get one answer', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const twins = await Promise.all(Array.from({ length: 8 }, () => post(api, key, 'a', { name: 'x' })));
  assert.deepEqual(new Set(twins.map(({ statusCode }) => statusCode)), new Set([201]));
  assert.equal(new Set(twins.map(({ body }) => body)).size, 1);
  assert.equal(twins.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 7);
  assert.equal(await countStreams(api, key), 1);
});

/** An API whose first creation of a stream hangs until it is let go on. */
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

test('a twin waits until the first is done, whichever process that is in', async (t) => {
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

test('a minute after its process died a request is done anew, and what was left of it is not', async (t) => {
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

test('a twin that has waited for long is told when to come back', async (t) => {
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
  for (let ticks = 0; !answer.isThere && ticks < 1000; ticks += 1) {
    t.mock.timers.tick(100);
    await setImmediate();
  }
  t.mock.timers.reset();
  const refused = await twin;
  assert.equal(refused.statusCode, 409);
  assert.equal(refused.headers['retry-after'], '5');
});

test('what was refused may be sent again, corrected or not', async (t) => {
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

test('while the store is away a repeat is refused with 503, and done once it is back', async (t) => {
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

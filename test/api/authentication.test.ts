import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '#domain/secret.ts';
import { startApi } from './server.ts';

const wrong = { userId: '' as never, id: '' as never, secret: 'millrace_wrong' };

test('a missing, malformed or unknown key is 401 with WWW-Authenticate', async (t) => {
  const api = await startApi(t);
  const { secret } = await api.makeKey('ann');
  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', secret, `Basic ${secret}`, `Bearer ${secret}x`]) {
    for (const [method, path] of [
      ['POST', '/stream'],
      ['GET', '/stream'],
      ['GET', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f'],
    ] as const) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const response = await api.call(method, path, { headers });
      assert.equal(response.statusCode, 401, String(authorization));
      assert.equal(response.headers['www-authenticate'], 'Bearer');
      assert.equal(response.json().code, 'unauthenticated');
      assert.ok(!response.body.includes(secret));
    }
  }
});

test('the scheme may be written in any letter case, with spaces around the key', async (t) => {
  const api = await startApi(t);
  const { secret } = await api.makeKey('ann');
  for (const authorization of [`Bearer ${secret}`, `bearer ${secret}`, `  BEARER   ${secret}  `]) {
    assert.equal((await api.call('GET', '/stream', { headers: { authorization } })).statusCode, 200, authorization);
  }
});

test('a key of any characters works', async (t) => {
  const api = await startApi(t);
  // The last byte is 0xA0, which is a space in Latin-1.
  const text = 'Ein Schlüssel mit 漢字 und Leerzeichen, voilà';
  await api.makeKey('ann', 'odd', new Secret(text));
  const onTheWire = Buffer.from(`Bearer ${text}`).toString('latin1');
  assert.equal((await api.call('GET', '/stream', { headers: { authorization: onTheWire } })).statusCode, 200);
});

test('the key is checked before the body is read', async (t) => {
  const api = await startApi(t);
  for (const [body, type] of [
    ['{"name":', 'application/json'],
    ['x'.repeat(200_000), 'application/json'],
    ['x', 'text/plain'],
  ] as const) {
    const response = await api.call('POST', '/stream', { body, headers: { 'content-type': type } });
    assert.equal(response.statusCode, 401);
  }
});

test('a revoked key fails at the next request', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann', 'lost');
  assert.equal((await api.call('GET', '/stream', { key })).statusCode, 200);
  await api.revoke(key);
  assert.equal((await api.call('GET', '/stream', { key })).statusCode, 401);
});

test('a stream keeps the name that its API key had', async (t) => {
  const api = await startApi(t);
  const [first, second] = [await api.makeKey('ann', 'first'), await api.makeKey('ann', 'second')];
  const { id } = (await api.call('POST', '/stream', { key: first, body: { name: 'x' } })).json();
  await api.revoke(first);
  assert.equal((await api.call('GET', `/stream/${id}`, { key: second })).json().createdByTokenName, 'first');
});

test('an address that keeps guessing gets 429, and its keys are not checked', async (t) => {
  const api = await startApi(t, { MILLRACE_WRONG_KEYS_PER_MINUTE: '3' });
  const key = await api.makeKey('ann');
  const remoteAddress = '198.51.100.7';
  for (let attempt = 0; attempt < 3; attempt += 1) {
    assert.equal((await api.call('GET', '/stream', { key: wrong, remoteAddress })).statusCode, 401);
  }
  const refused = await api.call('GET', '/stream', { key: wrong, remoteAddress });
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers['retry-after'], '20');
  assert.equal(
    (await api.call('GET', '/stream', { key, remoteAddress })).statusCode,
    429,
    'a right guess shows nothing',
  );
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress: '198.51.100.8' })).statusCode, 200);
  api.time.monotonic += 20_000;
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress })).statusCode, 200);
});

test('a key in use at an address works while another client of that address is throttled, until the key is revoked', async (t) => {
  const api = await startApi(t, { MILLRACE_WRONG_KEYS_PER_MINUTE: '1' });
  const key = await api.makeKey('ann', 'in use');
  const remoteAddress = '198.51.100.7';
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress })).statusCode, 200);
  assert.equal((await api.call('GET', '/stream', { key: wrong, remoteAddress })).statusCode, 401);
  assert.equal((await api.call('GET', '/stream', { key: wrong, remoteAddress })).statusCode, 429);
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress })).statusCode, 200);
  await api.revoke(key);
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress })).statusCode, 401);
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress })).statusCode, 429);
});

test('500 wrong keys of an address at once cause 20 lookups, and the clients of other addresses do not wait', async (t) => {
  const strangers: (string | undefined)[] = [];
  const api = await startApi(t, {}, (store) => ({
    ...store,
    apiKeys: {
      ...store.apiKeys,
      byHash: (hash, stranger) => {
        strangers.push(stranger);
        return store.apiKeys.byHash(hash, stranger);
      },
    },
  }));
  const key = await api.makeKey('ann');
  const guesses = Array.from({ length: 500 }, (_, each) =>
    api.call('GET', '/stream', { key: { ...wrong, secret: `mk_${each}` }, remoteAddress: '198.51.100.7' }),
  );
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress: '198.51.100.8' })).statusCode, 200);
  const codes = (await Promise.all(guesses)).map(({ statusCode }) => statusCode);
  assert.equal(codes.filter((code) => code === 401).length, 20);
  assert.equal(codes.filter((code) => code === 429).length, 480);
  assert.equal(strangers.filter((stranger) => stranger === '198.51.100.7').length, 20);
  strangers.length = 0;
  assert.equal((await api.call('GET', '/stream', { key, remoteAddress: '198.51.100.8' })).statusCode, 200);
  assert.deepEqual(strangers, [undefined], 'a key that was valid from an address before is no lookup of a stranger');
});

test('behind a trusted proxy each client has its own throttle; clients of other addresses cannot choose their address', async (t) => {
  const api = await startApi(t, { MILLRACE_WRONG_KEYS_PER_MINUTE: '1', MILLRACE_TRUSTED_PROXIES: '10.0.0.0/8' });
  const from = (client: string, remoteAddress: string) =>
    api.call('GET', '/stream', { key: wrong, remoteAddress, headers: { 'x-forwarded-for': client } });
  assert.equal((await from('198.51.100.7', '10.1.2.3')).statusCode, 401);
  assert.equal((await from('198.51.100.7', '10.1.2.3')).statusCode, 429);
  assert.equal((await from('198.51.100.8', '10.1.2.3')).statusCode, 401);
  assert.equal((await from('203.0.113.1', '192.0.2.1')).statusCode, 401);
  assert.equal((await from('203.0.113.2', '192.0.2.1')).statusCode, 429);
  assert.equal((await from('198.51.100.9:1000', '10.1.2.3')).statusCode, 401);
  for (const same of ['198.51.100.9:1001', '198.51.100.9', '198.51.100.1, 198.51.100.9:1000']) {
    assert.equal((await from(same, '10.1.2.3')).statusCode, 429, same);
  }
  assert.equal((await from('[2001:db8::1]:1000', '10.1.2.3')).statusCode, 401);
  assert.equal((await from('2001:db8::1', '10.1.2.3')).statusCode, 429);
  assert.equal((await from('unknown', '10.1.2.3')).statusCode, 401);
  assert.equal((await from('203.0.113.3, _hidden', '10.1.2.3')).statusCode, 429);
});

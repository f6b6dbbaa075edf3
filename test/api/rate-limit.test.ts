import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi, type TestKey } from './server.ts';

const headersOf = (response: { headers: Record<string, unknown> }) =>
  ['limit', 'remaining', 'reset'].map((name) => response.headers[`ratelimit-${name}`]);

test('each key has a limit of requests per minute, and every answer shows how many are left', async (t) => {
  const api = await startApi(t, { MILLRACE_API_RATE_LIMIT: '60' });
  const [key, other] = [await api.makeKey('ann'), await api.makeKey('ann', 'other')];
  const first = await api.call('GET', '/stream', { key });
  assert.equal(first.statusCode, 200);
  assert.deepEqual(headersOf(first), ['60', '59', '1']);
  for (let count = 0; count < 59; count += 1) await api.call('GET', '/stream', { key });
  const refused = await api.call('POST', '/stream', { key, body: '{' });
  assert.equal(refused.statusCode, 429, 'judged before the body is read');
  assert.equal(refused.json().code, 'too_many_requests');
  assert.equal(refused.headers['retry-after'], '1');
  assert.deepEqual(headersOf(refused), ['60', '0', '60']);
  assert.equal((await api.call('GET', '/stream', { key: other })).statusCode, 200);
  api.time.monotonic += 1000;
  assert.equal((await api.call('GET', '/stream', { key })).statusCode, 200);
  assert.equal((await api.call('GET', '/stream', { key })).statusCode, 429);
});

test('there is no limit and no header when it is off, or where no key is needed', async (t) => {
  const off = await startApi(t, { MILLRACE_API_RATE_LIMIT: '0' });
  const key = await off.makeKey('ann');
  assert.deepEqual(headersOf(await off.call('GET', '/stream', { key })), [undefined, undefined, undefined]);
  const on = await startApi(t);
  assert.deepEqual(headersOf(await on.call('GET', '/ingest')), [undefined, undefined, undefined]);
});

test('any web page may read the limit', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const answer = await api.call('GET', '/stream', { key, headers: { origin: 'https://app.example.com' } });
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  for (const name of ['ratelimit-limit', 'idempotency-replayed', 'link', 'x-total-count']) {
    assert.ok(String(answer.headers['access-control-expose-headers']).includes(name), name);
  }
  const preflight = await api.call('OPTIONS', '/stream', {
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
  });
  assert.match(String(preflight.headers['access-control-allow-headers']), /idempotency-key/);
});

test('all keys of a user together have a quota of requests, which an admin may change', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_REQUESTS_PER_MINUTE: '3', MILLRACE_API_RATE_LIMIT: '0' });
  const [admin, first, second, bob] = [
    await api.makeKey('admin'),
    await api.makeKey('ann', 'first'),
    await api.makeKey('ann', 'second'),
    await api.makeKey('bob'),
  ];
  const ask = async (key: TestKey) => (await api.call('GET', '/stream', { key })).statusCode;
  assert.deepEqual([await ask(first), await ask(second), await ask(first)], [200, 200, 200]);
  const refused = await api.call('GET', '/stream', { key: second });
  assert.equal(refused.json().code, 'too_many_requests');
  assert.equal(refused.headers['retry-after'], '20');
  assert.equal(await ask(bob), 200, 'another user is not affected');
  const quotas = { requestsPerMinute: 0 };
  await api.call('PATCH', `/user/${first.userId}`, { key: admin, body: { quotas } });
  assert.deepEqual([await ask(first), await ask(second)], [200, 200]);
});

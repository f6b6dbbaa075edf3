import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BrowserSession, BrowserTokens, SESSION_IDLE_MS } from '#domain/browser-session.ts';
import { newBrowserSessionId, type UserId } from '#domain/ids.ts';
import { newBrowserSecret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { someReceipt } from '#test/support/sample-records.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** A browser session of a user, made with the key if one is given, and the token that its pages have. */
async function browserOf(api: TestApi, userId: UserId, key?: TestKey) {
  const now = ms(api.time.now);
  const session: BrowserSession = {
    id: newBrowserSessionId(),
    userId,
    keyId: key?.id,
    secretHash: newBrowserSecret().hash(),
    createdAt: now,
    lastSeen: now,
    address: '192.0.2.1',
  };
  await api.store.browserSessions.create(session, someReceipt());
  const tokens = new BrowserTokens(await api.store.nodes.clusterSecret());
  const token = tokens.issue(session.id, ms(now + 600_000)).reveal();
  const headers = { authorization: `Bearer ${token}` };
  return {
    session,
    token,
    get: (url: string) => api.http.inject({ url: `/api${url}`, headers }),
    send: (method: 'POST' | 'DELETE', url: string, payload?: object) =>
      api.http.inject({ method, url: `/api${url}`, headers, ...(payload && { payload }) }),
  };
}

test('a token of a browser session does what its user may, and what it does is logged under the session', async (t) => {
  const api = await startApi(t);
  const admin = await api.makeKey('admin');
  const browser = await browserOf(api, admin.userId);
  const made = await browser.send('POST', '/stream', { name: 'x' });
  assert.equal(made.statusCode, 201, made.body);
  assert.equal(made.json().createdByTokenName, 'dashboard');
  const [entry] = (await browser.get('/audit?limit=1')).json();
  assert.deepEqual(entry.actor, { userId: admin.userId, tokenId: browser.session.id, tokenName: 'dashboard' });
});

test('a session made with a limited key may do what the key may, and nothing else', async (t) => {
  const api = await startApi(t);
  const rules = [{ resources: ['stream'], methods: ['get'] }];
  const key = await api.makeKey('ana', 'limited', undefined, rules);
  const browser = await browserOf(api, key.userId, key);
  assert.equal((await browser.get('/stream')).statusCode, 200);
  for (const refused of [await browser.send('POST', '/stream', { name: 'x' }), await browser.get('/api-token')]) {
    assert.equal(refused.json().code, 'insufficient_scope');
  }
});

test('a session made with a key that may only read goes on after days without use, and one of the same user with a link does not', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ana', 'dock', undefined, [{ resources: ['*'], methods: ['get'] }]);
  const dock = await browserOf(api, key.userId, key);
  const desk = await browserOf(api, key.userId);
  api.time.now += 3 * SESSION_IDLE_MS;
  const tokens = new BrowserTokens(await api.store.nodes.clusterSecret());
  const ask = async ({ session }: typeof dock) => {
    const token = tokens.issue(session.id, ms(api.time.now + 1000)).reveal();
    return await api.http.inject({ url: '/api/browser-session', headers: { authorization: `Bearer ${token}` } });
  };
  assert.equal((await ask(desk)).statusCode, 401);
  assert.deepEqual(
    (await ask(dock)).json().map(({ id }: { id: string }) => id),
    [dock.session.id],
  );
});

test('a token is refused from the next request on after its session, its key or its user has ended, and when its time is over', async (t) => {
  const api = await startApi(t);
  const admin = await api.makeKey('admin');
  const key = await api.makeKey('ana');
  const ended = await browserOf(api, key.userId, key);
  assert.equal((await ended.get('/stream')).statusCode, 200);
  const answer = await ended.send('DELETE', `/browser-session/${ended.session.id}`);
  assert.equal(answer.statusCode, 204);
  assert.equal((await ended.get('/stream')).statusCode, 401);

  const idle = await browserOf(api, admin.userId);
  const late = await browserOf(api, admin.userId);
  const tokens = new BrowserTokens(await api.store.nodes.clusterSecret());
  api.time.now += 600_000;
  assert.equal((await late.get('/stream')).statusCode, 401);
  api.time.now += SESSION_IDLE_MS;
  const fresh = tokens.issue(idle.session.id, ms(api.time.now + 1000)).reveal();
  const again = await api.http.inject({ url: '/api/stream', headers: { authorization: `Bearer ${fresh}` } });
  assert.equal(again.statusCode, 401);

  const ofKey = await browserOf(api, key.userId, key);
  assert.equal((await ofKey.get('/stream')).statusCode, 200);
  await api.store.apiKeys.revoke(key.id, key.userId, someReceipt());
  assert.equal((await ofKey.get('/stream')).statusCode, 401);

  const suspended = await browserOf(api, key.userId);
  await api.store.users.change(key.userId, { suspended: true }, someReceipt());
  assert.equal((await suspended.get('/stream')).json().code, 'user_suspended');
});

test('a token that has expired or whose session has ended never counts as a wrong key, and a valid one is never refused as a guess', async (t) => {
  const api = await startApi(t, { MILLRACE_WRONG_KEYS_PER_MINUTE: '2' });
  const key = await api.makeKey('ana');
  const [expired, ended] = [await browserOf(api, key.userId), await browserOf(api, key.userId)];
  assert.equal((await ended.get('/stream')).statusCode, 200);
  api.time.now += 600_000;
  const fresh = await browserOf(api, key.userId, key);
  const another = await browserOf(api, key.userId, key);
  await api.store.browserSessions.end(ended.session.id, key.userId, someReceipt());
  for (let count = 0; count < 5; count += 1) {
    for (const browser of [expired, ended]) assert.equal((await browser.get('/stream')).statusCode, 401);
  }
  assert.equal((await fresh.get('/stream')).statusCode, 200);
  const guess = { authorization: 'Bearer wrong' };
  for (const status of [401, 401, 429]) {
    assert.equal((await api.http.inject({ url: '/api/stream', headers: guess })).statusCode, status);
  }
  assert.equal((await another.get('/stream')).statusCode, 200);
});

test('sessions are listed to their user, and to admins who ask for that user', async (t) => {
  const api = await startApi(t);
  const admin = await api.makeKey('admin');
  const key = await api.makeKey('ana');
  const first = await browserOf(api, key.userId, key);
  api.time.now += 5;
  const second = await browserOf(api, key.userId);
  const own = (await second.get('/browser-session')).json();
  assert.deepEqual(
    own.map(({ id, tokenId, isCurrent }: Record<string, unknown>) => [id, tokenId, isCurrent]),
    [
      [second.session.id, undefined, true],
      [first.session.id, key.id, false],
    ],
  );
  const boss = await browserOf(api, admin.userId);
  assert.equal((await boss.get(`/browser-session?userId=${key.userId}`)).json().length, 2);
  assert.equal((await second.get(`/browser-session?userId=${admin.userId}`)).statusCode, 403);
  assert.equal((await second.send('DELETE', `/browser-session/${boss.session.id}`)).statusCode, 404);
  assert.equal((await boss.send('DELETE', `/browser-session/${second.session.id}`)).statusCode, 204);
});

test('no route of the API reads a cookie', async (t) => {
  const api = await startApi(t);
  const admin = await api.makeKey('admin');
  const browser = await browserOf(api, admin.userId);
  for (const name of ['millrace-80', 'millrace-8080', '__Host-millrace', 'authorization']) {
    for (const value of [browser.token, `Bearer ${browser.token}`, admin.secret]) {
      const cookie = `${name}=${encodeURIComponent(value)}`;
      for (const url of ['/api/stream', '/api/user/me', '/api/event/stream']) {
        assert.equal((await api.http.inject({ url, headers: { cookie } })).statusCode, 401, url);
      }
    }
  }
});

test('a repeat with another token of the session, or with the key that it was made with, is refused like one with another API key', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ana');
  for (const madeWith of [key, undefined]) {
    const { session, token } = await browserOf(api, key.userId, madeWith);
    const tokens = new BrowserTokens(await api.store.nodes.clusterSecret());
    const renewed = tokens.issue(session.id, ms(api.time.now + 700_000)).reveal();
    const post = (bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}`, 'idempotency-key': session.id };
      return api.http.inject({ method: 'POST', url: '/api/stream', headers, payload: { name: 'x' } });
    };
    const first = await post(token);
    assert.equal(first.statusCode, 201);
    assert.equal((await post(token)).body, first.body);
    for (const other of [renewed, key.secret]) {
      const refused = await post(other);
      assert.deepEqual([refused.statusCode, refused.json().code], [422, 'idempotency_key_reused']);
    }
  }
});

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  BrowserTokens,
  LINK_LIFE_MS,
  MAX_SESSIONS,
  SESSION_IDLE_MS,
  SIGN_INS_PER_MINUTE,
} from '#domain/browser-session.ts';
import { MillraceError } from '#domain/errors.ts';
import { newApiKeySecret, newBrowserSecret } from '#domain/secret.ts';
import type { User } from '#domain/user.ts';
import { createHttp } from '#http/http.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { putEmptyStore } from '#test/support/empty-store.ts';
import { someKey, someReceipt, someUser } from '#test/support/sample-records.ts';
import { DashboardBundle } from './bundle.ts';
import { dashboardPlugin } from './dashboard.ts';

const ORIGIN = 'http://live.example.com';
const OWN = { host: 'live.example.com', origin: ORIGIN, 'content-type': 'application/json' };

/** A dashboard over a real store, at a clock that the test moves. */
async function startDashboard(t: TestContext, publicUrl?: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-dashboard-'));
  await putEmptyStore(dataDir);
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  const time = { now: 1_795_175_107_399 };
  const clock = { now: () => ms(time.now), monotonic: () => ms(time.now) };
  const patient = { readTimeoutMs: 60_000, writeTimeoutMs: 60_000 };
  const store = await openStore({ dataDir, exclusive: true, logger, ...patient });
  const http = createHttp({
    settings: { maxConnections: 10, trustedProxies: ['127.0.0.1'], publicUrl },
    logger,
    metrics: createMetrics(),
  });
  const tokens = new BrowserTokens(newBrowserSecret());
  const throttle = new AttemptThrottle({ perMinute: 3, clock });
  await http.register(dashboardPlugin, {
    store,
    tokens,
    throttle,
    clock,
    logger,
    apiPrefix: '/api',
    publicUrl,
    isAttended: false,
  });
  t.after(async () => {
    await http.close();
    await store[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true });
  });
  const user = await store.users.ensure(someUser());
  const makeLink = async (owner: User = user) => {
    const secret = newBrowserSecret();
    const link = { userId: owner.id, secretHash: secret.hash(), expiresAt: ms(time.now + LINK_LIFE_MS) };
    await store.browserSessions.putLink(link, someReceipt());
    return secret.reveal();
  };
  /** Sends a request as the dashboard does, with other headers where a test names them; undefined leaves one out. */
  const post = (path: string, body: object = {}, headers: Readonly<Record<string, string | undefined>> = {}) => {
    const sent = Object.entries({ ...OWN, ...headers }).filter(([, value]) => value !== undefined);
    return http.inject({
      method: 'POST',
      url: `/dashboard/${path}`,
      headers: Object.fromEntries(sent) as Record<string, string>,
      payload: body,
    });
  };
  /** Signs in and gives the cookie, as a browser sends it back. */
  const signIn = async (body: object) => {
    const answer = await post('session', body);
    assert.equal(answer.statusCode, 201, answer.body);
    return String(answer.headers['set-cookie']).split(';')[0]!;
  };
  return { http, store, user, time, tokens, lines, makeLink, post, signIn };
}

test('a link signs in once, gives a token for the API, and a cookie that no script and no other site can use', async (t) => {
  const { makeLink, post, tokens, user, time } = await startDashboard(t);
  const link = await makeLink();
  const answer = await post('session', { link });
  assert.equal(answer.statusCode, 201);
  assert.match(
    String(answer.headers['set-cookie']),
    /^millrace-80=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  assert.equal(answer.headers['access-control-allow-origin'], undefined);
  assert.equal(answer.headers['cache-control'], 'no-store');
  const { token, expiresAt, sessionId, user: shown } = answer.json();
  assert.deepEqual(shown, { id: user.id, name: user.name, isAdmin: user.isAdmin });
  assert.equal(expiresAt, time.now + 600_000);
  assert.equal(tokens.read({ reveal: () => token } as never, ms(time.now)), sessionId);
  assert.equal((await post('session', { link })).json().code, 'unauthenticated');
});

test('the answer names the newest event, and a link signs in although events cannot be read', async (t) => {
  const { store, makeLink, post, signIn } = await startDashboard(t);
  const cookie = await signIn({ link: await makeLink() });
  assert.equal((await post('session/token', {}, { cookie })).json().lastEventId, await store.events.last());
  t.mock.method(store.events, 'last', () => Promise.reject(new Error('no database')));
  const answer = await post('session', { link: await makeLink() });
  assert.deepEqual([answer.statusCode, answer.json().lastEventId], [201, undefined]);
  assert.match(String(answer.headers['set-cookie']), /^millrace-80=/);
});

test('a link that two tabs open at the same moment signs in one of them', async (t) => {
  const { makeLink, post } = await startDashboard(t);
  const link = await makeLink();
  const answers = await Promise.all([post('session', { link }), post('session', { link })]);
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b),
    [201, 401],
  );
});

test('a link is refused after 15 minutes, and is not used up by GET or HEAD before', async (t) => {
  const { http, makeLink, post, time } = await startDashboard(t);
  const link = await makeLink();
  for (const method of ['GET', 'HEAD'] as const) {
    const { statusCode } = await http.inject({ method, url: '/dashboard/session', headers: { host: OWN.host } });
    assert.ok([200, 503].includes(statusCode));
  }
  time.now += LINK_LIFE_MS;
  assert.equal((await post('session', { link })).statusCode, 401);
  time.now -= 1;
  assert.equal((await post('session', { link })).statusCode, 201);
});

test('over TLS the cookie is bound to its host', async (t) => {
  const { makeLink, post } = await startDashboard(t, 'https://live.example.com:8443');
  const answer = await post('session', { link: await makeLink() }, { origin: 'https://live.example.com:8443' });
  assert.match(
    String(answer.headers['set-cookie']),
    /^__Host-millrace-8443=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
});

for (const [name, headers] of [
  ['a cookie only', { origin: undefined }],
  ['a foreign origin', { origin: 'https://attacker.example' }],
  ['the origin null', { origin: 'null' }],
  ['another port of the same host', { origin: 'http://live.example.com:8081' }],
  ['another scheme', { origin: 'https://live.example.com' }],
  ['a sibling host', { origin: 'http://evil.example.com' }],
  ['Sec-Fetch-Site cross-site', { 'sec-fetch-site': 'cross-site' }],
  ['Sec-Fetch-Site same-site', { 'sec-fetch-site': 'same-site' }],
  ['Sec-Fetch-Site none', { 'sec-fetch-site': 'none' }],
] as const) {
  test(`every route that reads the cookie refuses a request with ${name}`, async (t) => {
    const { makeLink, post, signIn } = await startDashboard(t);
    const cookie = await signIn({ link: await makeLink() });
    const link = await makeLink();
    for (const [path, body] of [
      ['session/token', {}],
      ['session/end', {}],
      ['session', { link }],
    ] as const) {
      const answer = await post(path, body, { cookie, ...headers });
      assert.equal(answer.statusCode, 403, path);
      assert.equal(answer.json().code, 'origin_not_allowed');
      assert.equal(answer.headers['set-cookie'], undefined);
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
    assert.equal((await post('session/token', {}, { cookie })).statusCode, 200);
  });
}

test('a form of another page cannot get a token, because the body must be declared as JSON', async (t) => {
  const { makeLink, post, signIn } = await startDashboard(t);
  const cookie = await signIn({ link: await makeLink() });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    assert.equal((await post('session/token', {}, { cookie, 'content-type': type })).statusCode, 415, type);
  }
});

test('a session ends when somebody signs out, after 12 hours without use, and with its key', async (t) => {
  const { makeLink, post, signIn, store, user, time } = await startDashboard(t);
  const isSignedIn = async (cookie: string) => (await post('session/token', {}, { cookie })).statusCode === 200;
  const first = await signIn({ link: await makeLink() });
  assert.ok(await isSignedIn(first));
  const out = await post('session/end', {}, { cookie: first });
  assert.equal(out.statusCode, 204);
  assert.match(String(out.headers['set-cookie']), /^millrace-80=; .*Expires=Thu, 01 Jan 1970/);
  assert.equal(await isSignedIn(first), false);

  const second = await signIn({ link: await makeLink() });
  time.now += SESSION_IDLE_MS - 1;
  assert.ok(await isSignedIn(second));
  time.now += SESSION_IDLE_MS;
  assert.equal(await isSignedIn(second), false);

  const secret = newApiKeySecret();
  const key = someKey(user, { secretHash: secret.hash(), access: { rules: [{ resources: ['stream'] }] } });
  await store.apiKeys.create(key, someReceipt());
  const third = await signIn({ key: secret.reveal() });
  const answer = await post('session/token', {}, { cookie: third });
  assert.deepEqual(answer.json().key, { id: key.id, name: key.name, access: key.access });
  await store.apiKeys.revoke(key.id, user.id, someReceipt());
  assert.equal(await isSignedIn(third), false);
});

test('whoever signs in again and again with a key that may do nothing has to wait, and signs no other browser out', async (t) => {
  const { makeLink, post, signIn, store, user, time } = await startDashboard(t);
  const cookie = await signIn({ link: await makeLink() });
  const [narrow, other] = [newApiKeySecret(), newApiKeySecret()];
  await store.apiKeys.create(
    someKey(user, { name: 'narrow', secretHash: narrow.hash(), access: { rules: [] } }),
    someReceipt(),
  );
  await store.apiKeys.create(someKey(user, { name: 'other', secretHash: other.hash() }), someReceipt());
  for (let minute = 0; minute * SIGN_INS_PER_MINUTE <= MAX_SESSIONS; minute += 1) {
    for (let count = 0; count < SIGN_INS_PER_MINUTE; count += 1) await signIn({ key: narrow.reveal() });
    const answer = await post('session', { key: narrow.reveal() });
    assert.equal(answer.json().code, 'too_many_requests');
    assert.ok(Number(answer.headers['retry-after']) > 0);
    await signIn({ key: other.reveal() });
    time.now += 60_000;
  }
  assert.equal((await post('session/token', {}, { cookie })).statusCode, 200);
});

test('a suspended user can neither sign in nor continue a session', async (t) => {
  const { makeLink, post, signIn, store, user } = await startDashboard(t);
  const cookie = await signIn({ link: await makeLink() });
  const link = await makeLink();
  await store.users.change(user.id, { suspended: true }, someReceipt());
  assert.equal((await post('session/token', {}, { cookie })).json().code, 'user_suspended');
  assert.equal((await post('session', { link })).json().code, 'user_suspended');
});

test('wrong links and keys are counted by address, and after too many of them right ones must wait, too', async (t) => {
  const { makeLink, post } = await startDashboard(t);
  const link = await makeLink();
  for (const body of [{ link: 'wrong' }, { key: 'wrong' }, { link: 'wrong again' }]) {
    assert.equal((await post('session', body)).statusCode, 401);
  }
  const answer = await post('session', { link });
  assert.equal(answer.statusCode, 429);
  assert.ok(Number(answer.headers['retry-after']) > 0);
});

test('a body with both, neither or other fields is refused', async (t) => {
  const { post } = await startDashboard(t);
  for (const body of [{}, { link: 'a', key: 'b' }, { password: 'a' }, { link: 7 }]) {
    assert.equal((await post('session', body)).statusCode, 422, JSON.stringify(body));
  }
});

test('links, cookies, tokens and keys appear in no line of the log', async (t) => {
  const { makeLink, post, signIn, store, user, lines } = await startDashboard(t);
  const secret = newApiKeySecret();
  await store.apiKeys.create(someKey(user, { secretHash: secret.hash() }), someReceipt());
  const link = await makeLink();
  const cookie = await signIn({ link });
  const { token } = (await post('session/token', {}, { cookie })).json();
  await signIn({ key: secret.reveal() });
  await post('session', { link });
  await post('session', { link: [link], key: secret.reveal() });
  await post('session/token', {}, { cookie, origin: 'null' });
  const log = lines.join('\n');
  for (const planted of [link, cookie.split('=')[1]!, token, secret.reveal()]) assert.ok(!log.includes(planted));
});

test('the page cannot be framed, runs no inline script, and loads from its own server only', async (t) => {
  const { http } = await startDashboard(t);
  for (const [url, root] of [
    ['/dashboard', ''],
    ['/dashboard/', '../'],
    ['/dashboard/streams', '../'],
    ['/dashboard/streams/x/y', '../../../'],
  ] as const) {
    const { statusCode, headers, body } = await http.inject({ url });
    assert.equal(statusCode, 200, body);
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'$/);
    assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|https?:/);
    assert.doesNotMatch(body, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=/);
    const script = /src="([^"]+main\.js)"/.exec(body)?.[1] ?? '';
    assert.ok(script.startsWith(`${root}dashboard/assets/`), script);
    const file = await http.inject({ url: new URL(script, `http://x${url}`).pathname });
    assert.equal(file.statusCode, 200);
    assert.match(String(file.headers['cache-control']), /immutable/);
  }
});

test('where the files cannot be bundled, the dashboard says so', async () => {
  using bundle = new DashboardBundle(createLogger('fatal'), new URL('./nowhere.ts', import.meta.url));
  for (let tries = 0; tries < 2; tries += 1) {
    await assert.rejects(bundle.files(), (error: Error) => {
      return error instanceof MillraceError && error.code === 'dashboard_unavailable' && error.status === 503;
    });
  }
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { createHttp, listenHttp } from './http.ts';

/** The beginning of a request with a body, without its last headers. */
const JSON_BODY = 'POST /read HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n';
const SETTINGS = { maxConnections: 100, trustedProxies: [], publicUrl: undefined };

/** A server with routes of the test's own. */
function serverOf(t: TestContext, settings: Partial<Parameters<typeof createHttp>[0]['settings']> = {}, clock?: Clock) {
  const lines: string[] = [];
  const metrics = createMetrics();
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  const http = createHttp({ settings: { ...SETTINGS, ...settings }, logger, metrics, ...(clock && { clock }) });
  t.after(() => {
    http.server.closeAllConnections();
    return http.close();
  });
  return { http, metrics, lines };
}

/** Sends bytes on a new connection, and returns everything that the server sends until it closes. */
async function exchange(http: ReturnType<typeof createHttp>, bytes: string): Promise<string> {
  const socket = connect((http.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(bytes);
  return await text(socket);
}

const listen = (http: ReturnType<typeof createHttp>) => listenHttp(http, { host: '127.0.0.1', port: 0 });

test('port 0 listens on a free port and returns it', async (t) => {
  const { http } = serverOf(t);
  const { host, port } = await listen(http);
  const response = await fetch(`http://${host}:${port}/healthz`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { ok: true });
});

test('every answer forbids type guessing, framing and scripts, and a route may set its own policy', async (t) => {
  const { http } = serverOf(t, { publicUrl: 'https://live.example.com' });
  http.get('/page', (_request, reply) => reply.header('content-security-policy', "default-src 'self'").send('x'));
  for (const url of ['/healthz', '/nothing', '/%']) {
    const { headers } = await http.inject(url);
    assert.equal(headers['x-content-type-options'], 'nosniff', url);
    assert.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'", url);
    assert.equal(headers['referrer-policy'], 'no-referrer', url);
    assert.match(String(headers['strict-transport-security']), /max-age/, url);
  }
  assert.equal((await http.inject('/page')).headers['content-security-policy'], "default-src 'self'");
});

test('pages of other origins may read the errors of requests that no route answers', async (t) => {
  const { http } = serverOf(t);
  http.get('/get/:id', () => 'ok');
  const mayRead = ({ headers }: { headers: Readonly<Record<string, unknown>> }) => [
    headers['access-control-allow-origin'],
    String(headers['access-control-expose-headers']).includes('retry-after'),
  ];
  for (const [method, url, status] of [
    ['GET', '/nothing', 404],
    ['PUT', '/healthz', 405],
    ['GET', '/%', 400],
    ['GET', `/get/${'x'.repeat(101)}`, 404],
  ] as const) {
    const answer = await http.inject({ method, url });
    assert.equal(answer.statusCode, status, url);
    assert.deepEqual(mayRead(answer), ['*', true], url);
  }
  // A route decides by itself which headers its answers have.
  assert.equal((await http.inject('/get/x')).headers['access-control-allow-origin'], undefined);
});

test('a request id of the caller is kept only when it is short and plain', async (t) => {
  const { http } = serverOf(t);
  const idFor = async (id: string) =>
    (await http.inject({ url: '/nothing', headers: { 'x-request-id': id } })).json().requestId;
  assert.equal(await idFor('66e2161c-7670-4d05-b71d-da2d6979556f'), '66e2161c-7670-4d05-b71d-da2d6979556f');
  for (const id of ['', 'x'.repeat(37), 'a b', 'a"b', 'a_b', '7f3q-x0m2-9kdp-4rtz'])
    assert.notEqual(await idFor(id), id);
  const ids = new Set(await Promise.all(Array.from({ length: 100 }, () => idFor(''))));
  assert.equal(ids.size, 100);
});

test('a request that is not HTTP, names no host or has too large headers is refused in the form of every error', async (t) => {
  const { http } = serverOf(t);
  http.post('/read', () => 'ok');
  await listen(http);
  for (const [bytes, status, code] of [
    ['nonsense\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\nhost:\r\n\r\n', 400, 'invalid_request'],
    ['GET / HTTP/1.1\r\nhost: a/b\r\n\r\n', 400, 'invalid_request'],
    ['NONSENSE / HTTP/1.1\r\nhost: a\r\n\r\n', 400, 'invalid_request'],
    ['CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n', 400, 'invalid_request'],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
    [`${JSON_BODY}transfer-encoding: gzip\r\n\r\nx`, 400, 'invalid_request'],
    [`${JSON_BODY}transfer-encoding: chunked\r\n\r\n5;${'x'.repeat(20_000)}\r\n`, 400, 'invalid_request'],
    [`GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431, 'headers_too_large'],
  ] as const) {
    const answer = await exchange(http, bytes.replace('host: a\r\n', 'host: a\r\nconnection: close\r\n'));
    assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), `${bytes.slice(0, 100)} ${answer.slice(0, 100)}`);
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
    assert.deepEqual(Object.keys(body), ['errors', 'code', 'requestId']);
    assert.equal(body.code, code);
    assert.match(answer, /\r\ncache-control: no-store\r\n/);
  }
});

test('a request in HTTP/1.0 needs no host, and an unknown expectation is ignored', async (t) => {
  const { http } = serverOf(t);
  await listen(http);
  for (const bytes of [
    'GET /healthz HTTP/1.0\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nhost: a\r\nexpect: the-unexpected\r\n\r\n',
  ]) {
    const last = bytes.includes('HTTP/1.0') ? '' : 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
    assert.match(await exchange(http, bytes + last), /^HTTP\/1\.1 200 .*{"ok":true}$/s, bytes);
  }
});

test('a large body is not read to its end once the request is refused', async (t) => {
  const { http } = serverOf(t);
  http.post('/refuse', { onRequest: (_request, _reply, done) => done(new Error('no')) }, () => 'ok');
  await listen(http);
  const head = (length: number) => `POST /refuse HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`;
  // Ends only when the server closes the connection, although nothing of the body was sent.
  assert.match(await exchange(http, head(1_000_000_000)), /^HTTP\/1\.1 500 .*connection: close/is);
});

/** Adds `GET /slow`, whose answers wait until `release` is called. `arrived` resolves when two requests wait. */
function addSlowRoute(http: ReturnType<typeof serverOf>['http']) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  let waiting = 0;
  http.get('/slow', async () => {
    waiting += 1;
    if (waiting === 2) arrive();
    await released;
    return { done: true };
  });
  return { arrived, release };
}

test('closing lets requests in flight finish, refuses others with an answer that any page can read, and closes idle connections', {
  timeout: 120_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] }); // so that the deadline never passes
  const { http } = serverOf(t);
  const { arrived, release } = addSlowRoute(http);
  http.options('*', (_request, reply) => reply.code(204).header('access-control-allow-origin', '*').send());
  const { port } = await listen(http);
  const idle = connect(port, '127.0.0.1');
  idle.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  await once(idle, 'data');
  const idleClosed = once(idle, 'close');
  const [busy, alone] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  const [answers, answer] = [text(busy), text(alone)];
  for (const socket of [busy, alone]) socket.write('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
  await arrived;
  const closed = http.close();
  await idleClosed;
  const preflight = 'OPTIONS /healthz HTTP/1.1\r\nhost: a\r\naccess-control-request-method: GET\r\n\r\n';
  busy.write(`${preflight}GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n`);
  await once(http.server, 'request');
  release();
  await closed;
  assert.match(await answer, /^HTTP\/1\.1 200 .*{"done":true}$/s);
  assert.match(
    await answers,
    /^HTTP\/1\.1 200 .*{"done":true}HTTP\/1\.1 204 .*HTTP\/1\.1 503 .*access-control-allow-origin: \*.*retry-after: 5.*"code":"shutting_down"/s,
  );
});

test('while the server closes, a connection stays open for a moment after a preflight, for the request that follows', {
  timeout: 60_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let time = 0;
  const { http } = serverOf(t, {}, { now: () => ms(0), monotonic: () => ms(time) });
  const { arrived, release } = addSlowRoute(http);
  http.options('*', (_request, reply) => reply.code(204).send());
  const { port } = await listen(http);
  const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')] as const;
  /** Sends a request. Returns the answer, or a text that is no answer when the connection is closed. */
  const ask = async (socket: (typeof sockets)[number], request: string) => {
    const answer = Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.write(`${request} HTTP/1.1\r\nhost: a\r\naccess-control-request-method: GET\r\n\r\n`);
    return String((await answer)[0]);
  };
  const slow = sockets.map((socket) => ask(socket, 'GET /slow'));
  await arrived;
  const closed = http.close();
  while (http.server.listening) await new Promise((resolve) => setImmediate(resolve));
  release();
  await Promise.all(slow);
  for (const socket of sockets) assert.match(await ask(socket, 'OPTIONS /healthz'), /^HTTP\/1\.1 204 /);
  t.mock.timers.tick(50);
  assert.match(await ask(sockets[0], 'GET /healthz'), /^HTTP\/1\.1 503 .*"code":"shutting_down"/s);
  time = 500;
  t.mock.timers.tick(50);
  await Promise.all([closed, ...sockets.map((socket) => socket.closed || once(socket, 'close'))]);
});

test('closing does not wait for a request that never ends', { timeout: 120_000 }, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { http } = serverOf(t);
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  http.get('/never', () => {
    arrive();
    return new Promise(() => {});
  });
  const { port } = await listen(http);
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.write('GET /never HTTP/1.1\r\nhost: a\r\n\r\n');
  await arrived;
  const socketClosed = once(socket, 'close');
  const closed = http.close();
  while (http.server.listening) await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(2000);
  await Promise.all([closed, socketClosed]);
});

test('answers are counted by route and status, and their times are measured except for held ones', async (t) => {
  const { http, metrics } = serverOf(t);
  http.get('/thing/:id', () => 'x');
  http.get('/held', { config: { held: true } }, () => {
    throw new MillraceError('too_many_viewers', 'not now');
  });
  http.get('/held/media', { config: { held: true } }, (_request, reply) => {
    reply.hijack().raw.writeHead(206).end('x');
  });
  for (const url of ['/thing/1', '/thing/2', '/held', '/held/media', '/nothing']) await http.inject(url);
  const linesOf = async (metric: string, name: string) => {
    const shown = await metrics.registry.getSingleMetricAsString(metric);
    return shown
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) && !line.endsWith(' 0'))
      .toSorted();
  };
  assert.deepEqual(await linesOf('millrace_http_answers_total', 'millrace_http_answers_total'), [
    'millrace_http_answers_total{route="/held",status="503"} 1',
    'millrace_http_answers_total{route="/held/media",status="206"} 1',
    'millrace_http_answers_total{route="/thing/:id",status="200"} 2',
    'millrace_http_answers_total{route="none",status="404"} 1',
  ]);
  const failures = await metrics.registry.getSingleMetricAsString('millrace_http_answers_total');
  for (const status of [500, 503, 504])
    assert.match(failures, new RegExp(`{route="/thing/:id",status="${status}"} 0`), 'the first failure is an increase');
  assert.deepEqual(await linesOf('millrace_http_request_seconds', 'millrace_http_request_seconds_count'), [
    'millrace_http_request_seconds_count{route="/thing/:id",status="200"} 2',
    'millrace_http_request_seconds_count{route="none",status="404"} 1',
  ]);
});

test('a request that has a content type but no body is answered at once', async (t) => {
  const { http } = serverOf(t);
  http.post('/thing', ({ body }) => ({ body: body ?? 'none' }));
  await listen(http);
  const head = 'POST /thing HTTP/1.1\r\nhost: a\r\nconnection: close\r\n';
  for (const rest of [
    'content-type: application/json\r\n\r\n',
    'content-type: application/x-www-form-urlencoded\r\ncontent-length: 0\r\n\r\n',
  ])
    assert.match(await exchange(http, head + rest), /^HTTP\/1\.1 200 .*{"body":"none"}$/s, rest);
});

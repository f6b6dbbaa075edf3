import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { fingerprintAt, makeCertificate, writeCertificate } from '#test/support/certificate.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { createHttp, listenHttp } from './http.ts';

/** By default the allowances of hosts are not refilled, however long a test takes. */
const STOPPED: Clock = { now: () => ms(0), monotonic: () => ms(0) };

/** A server with its own certificate. Routes may be added until it listens. */
async function serverOf(
  t: TestContext,
  {
    maxConnections = 100,
    trustedProxies = [],
    clock = STOPPED,
  }: { maxConnections?: number; trustedProxies?: readonly string[]; clock?: Clock } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-tls-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = await writeCertificate(folder, makeCertificate());
  const certificate = await CertificateWatch.open({
    certFile: files.MILLRACE_TLS_CERT,
    keyFile: files.MILLRACE_TLS_KEY,
  });
  const settings = { maxConnections, trustedProxies, publicUrl: undefined };
  const metrics = createMetrics();
  const http = createHttp({ settings, logger: silentLogger, metrics, certificate, clock });
  const clients: { destroy(): void }[] = [];
  t.after(async () => {
    for (const client of clients) client.destroy();
    await http.close();
    certificate[Symbol.dispose]();
  });
  const port = () => (http.server.address() as AddressInfo).port;
  return {
    http,
    metrics,
    folder,
    listen: () => listenHttp(http, { host: '0.0.0.0', port: 0 }),
    /** An HTTP/2 client. A test that expects an error of its connection finds it with `closed`. */
    http2: (localAddress = '127.0.0.1') => {
      const options = { rejectUnauthorized: false, localAddress };
      const session = connectHttp2(`https://127.0.0.1:${port()}`, options);
      session.on('error', () => {});
      clients.push(session);
      return session;
    },
    /** A TLS connection to write bytes to. */
    tls: async (alpn: string[] = [], localAddress = '127.0.0.1'): Promise<TLSSocket> => {
      const target = { port: port(), host: '127.0.0.1', localAddress };
      const socket = connectTls({ ...target, rejectUnauthorized: false, ALPNProtocols: alpn });
      socket.on('error', () => {});
      clients.push(socket);
      await once(socket, 'secureConnect');
      return socket;
    },
    /** A TCP connection without TLS. */
    tcp: () => {
      const socket = connect(port(), '127.0.0.1').on('error', () => {});
      clients.push(socket);
      return socket;
    },
  };
}

/** Resolves when a connection or stream has closed, also by an error. */
const closeOf = (emitter: EventEmitter) => new Promise<void>((resolve) => emitter.once('close', () => resolve()));

/** Sends a request and waits for the whole answer. */
async function ask(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}) {
  return await answerOf(session.request({ ':path': path, ...headers }));
}

async function answerOf(stream: ClientHttp2Stream) {
  const headers = once(stream, 'response').then(([values]) => values as Record<string, string>);
  const [values, body] = await Promise.all([headers, text(stream)]);
  return { status: Number(values[':status']), headers: values, body };
}

test('HTTP/2 and HTTP/1.1 are served on one port, with the same headers and ids', async (t) => {
  const server = await serverOf(t);
  await server.listen();
  const first = await ask(server.http2(), '/healthz', { 'x-request-id': 'mine' });
  assert.equal(first.status, 200);
  assert.equal(first.body, '{"ok":true}');
  assert.equal(first.headers['x-request-id'], 'mine');
  assert.match(first.headers['strict-transport-security']!, /max-age/);
  const old = await server.tls(['http/1.1']);
  old.end('GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  const answer = await text(old);
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n.*strict-transport-security: max-age.*{"ok":true}$/s);
  const counted = await server.metrics.registry.getSingleMetricAsString('millrace_http_request_seconds');
  assert.match(counted, /_count{route="\/healthz",status="200"} 2$/m);
});

test('a request whose client leaves before there is an answer is not counted as an answer', async (t) => {
  const server = await serverOf(t);
  const { promise: held, resolve } = Promise.withResolvers<EventEmitter>();
  server.http.get('/held', { config: { held: true } }, (_request, reply) => {
    resolve(reply.raw);
    return new Promise(() => {});
  });
  await server.listen();
  const stream = server
    .http2()
    .request({ ':path': '/held' })
    .on('error', () => {});
  const closed = closeOf(await held);
  stream.close();
  await closed;
  const counted = await server.metrics.registry.getSingleMetricAsString('millrace_http_answers_total');
  assert.doesNotMatch(counted, /held.* [1-9]/);
});

test('a route sees https and the host, whatever the version', async (t) => {
  const server = await serverOf(t);
  server.http.get('/url', ({ protocol, host, ip }) => ({ protocol, host, ip }));
  await server.listen();
  const { body } = await ask(server.http2(), '/url', { ':authority': 'live.example.com' });
  assert.deepEqual(JSON.parse(body), { protocol: 'https', host: 'live.example.com', ip: '127.0.0.1' });
});

test('errors have the same form over HTTP/2, without the header `connection`', async (t) => {
  const server = await serverOf(t);
  server.http.post('/refuse', { onRequest: (_request, _reply, done) => done(new Error('no')) }, () => 'ok');
  await server.listen();
  const session = server.http2();
  const missing = await ask(session, '/nothing');
  assert.equal(missing.status, 404);
  assert.equal(JSON.parse(missing.body).code, 'not_found');
  const large = session.request({ ':path': '/refuse', ':method': 'POST', 'content-length': '1000000000' });
  large.on('error', () => {});
  const [headers] = await once(large, 'response');
  assert.equal(headers[':status'], 500);
  assert.equal(headers.connection, undefined);
  const tooLong = session.request({ ':path': '/healthz', x: 'x'.repeat(40_000) }).on('error', () => {});
  await closeOf(tooLong);
  assert.equal((await ask(server.http2(), '/healthz')).status, 200);
});

test('a body over HTTP/2 needs no content-length, and a request without a body may have a content type', async (t) => {
  const server = await serverOf(t);
  server.http.post('/echo', ({ body }) => ({ body: body ?? 'none' }));
  await server.listen();
  const session = server.http2();
  const post = { ':path': '/echo', ':method': 'POST', 'content-type': 'application/json' };
  const withBody = session.request(post);
  withBody.end('{"a":1}');
  const withLength = session.request({ ...post, 'content-length': '7' });
  withLength.end('{"a":1}');
  const without = session.request({ ...post, 'content-type': 'text/plain' }, { endStream: true });
  const empty = session.request({ ...post, 'content-type': 'text/plain', 'content-length': '0' });
  empty.end();
  const answers = await Promise.all([withBody, withLength, without, empty].map(answerOf));
  assert.deepEqual(
    answers.map(({ body }) => body),
    ['{"body":{"a":1}}', '{"body":{"a":1}}', '{"body":"none"}', '{"body":"none"}'],
  );
});

test('a body over HTTP/2 without a content type is refused, and an announced body may be empty', async (t) => {
  const server = await serverOf(t);
  server.http.patch('/echo', ({ body }) => ({ body: body ?? 'none' }));
  await server.listen();
  const session = server.http2();
  const patch = { ':path': '/echo', ':method': 'PATCH' };
  const untyped = session.request(patch);
  untyped.end('{"a":1}');
  const refused = await answerOf(untyped);
  assert.equal(refused.status, 415);
  assert.equal(JSON.parse(refused.body).code, 'unsupported_media_type');
  const empty = session.request(patch);
  empty.end();
  assert.equal((await answerOf(empty)).body, '{"body":"none"}');
});

test('plain HTTP, and bytes that are neither, close their own connection only', async (t) => {
  const server = await serverOf(t);
  await server.listen();
  for (const bytes of ['GET / HTTP/1.1\r\nhost: a\r\n\r\n', '\0'.repeat(1000), '\x16\x03\x01\x02\x00\x01\xff']) {
    const socket = server.tcp();
    socket.end(bytes);
    await closeOf(socket.resume());
  }
  const socket = await server.tls(['http/1.1']);
  socket.write('nonsense\r\n\r\n');
  assert.match(await text(socket), /^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
  const broken = await server.tls(['h2']);
  broken.write('nonsense, and no preface of HTTP/2\r\n\r\n');
  await closeOf(broken.resume());
  assert.equal((await ask(server.http2(), '/healthz')).status, 200);
});

test('a client may have a limited number of concurrent requests on a connection, and no more', async (t) => {
  const server = await serverOf(t);
  let arrived = 0;
  const { promise, resolve: release } = Promise.withResolvers<void>();
  server.http.get('/held', async () => {
    arrived += 1;
    await promise;
    return 'x';
  });
  await server.listen();
  const session = server.http2();
  await once(session, 'remoteSettings');
  assert.equal(session.remoteSettings.maxConcurrentStreams, 256);
  const answers = Array.from({ length: 256 }, () => ask(session, '/held'));
  await waitFor(() => arrived === 256, { what: 'as many requests as may be' });
  release();
  assert.ok((await Promise.all(answers)).every(({ status }) => status === 200));
});

/** The connection preface of a client. Frames follow it. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8 } as const;
const END = { stream: 1, headers: 4 } as const;

function frame(type: number, flags: number, stream: number, payload: readonly number[] = []): Buffer {
  const head = [0, payload.length >> 8, payload.length & 255, type, flags, 0, 0, stream >> 8, stream & 255];
  return Buffer.from([...head, ...payload]);
}

/** GET /: method, scheme, path, and an authority of one letter. */
const headers = (stream: number, flags: number = END.stream) =>
  frame(FRAME.headers, flags | END.headers, stream, [0x82, 0x87, 0x84, 0x41, 1, 0x78]);
const cancelled = (stream: number) => [
  headers(stream),
  frame(FRAME.reset, 0, stream, [0, 0, 0, constants.NGHTTP2_CANCEL]),
];
const several = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Sends the preface and these frames at once. Resolves when the connection has been closed. */
async function flood(server: Awaited<ReturnType<typeof serverOf>>, frames: readonly Buffer[], localAddress?: string) {
  const socket = await server.tls(['h2'], localAddress);
  const closed = closeOf(socket.resume());
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), ...frames]));
  await closed;
}

/** Whether a new connection from the address is answered. */
async function isServed(server: Awaited<ReturnType<typeof serverOf>>, localAddress: string): Promise<boolean> {
  const session = server.http2(localAddress);
  return await Promise.race([
    ask(session, '/healthz').then(({ status }) => status === 200),
    closeOf(session).then(() => false),
  ]);
}

test('a connection that cancels its requests at once is closed after a handful, and none of them is started', async (t) => {
  const server = await serverOf(t);
  let arrived = 0;
  let started = 0;
  server.http.server.on('stream', () => {
    arrived += 1;
  });
  server.http.get('/', () => {
    started += 1;
    return new Promise(() => {});
  });
  await server.listen();
  await flood(server, several(400, (index) => cancelled(2 * index + 1)).flat(), '127.0.0.2');
  assert.ok(arrived < 40, `${arrived} requests arrived`);
  assert.equal(started, 0);
  assert.deepEqual(await Promise.all([isServed(server, '127.0.0.2'), isServed(server, '127.0.0.3')]), [false, true]);
});

test('a trusted proxy may cancel what its viewers no longer want', async (t) => {
  const server = await serverOf(t, { trustedProxies: ['127.0.0.2'] });
  await server.listen();
  const socket = await server.tls(['h2'], '127.0.0.2');
  const frames = several(200, (index) => cancelled(2 * index + 1)).flat();
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), ...frames, headers(401)]));
  // HEADERS of the only request that is answered.
  let received = Buffer.alloc(0);
  for await (const piece of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, piece]);
    if (received.includes('not_found')) break;
  }
  assert.ok(received.includes('not_found'));
});

for (const [what, bytes] of [
  ['window updates', frame(FRAME.windowUpdate, 0, 0, [0, 0, 0, 1])],
  ['priorities', frame(2, 0, 1, [0, 0, 0, 0, 1])],
] as const) {
  test(`a connection that sends too many ${what} without requests is closed, and its host gets no other for a while`, async (t) => {
    let time = 0;
    const server = await serverOf(t, { clock: { now: () => ms(0), monotonic: () => ms(time) } });
    await server.listen();
    const calm = server.http2('127.0.0.3');
    assert.equal((await ask(calm, '/healthz')).status, 200);
    await flood(
      server,
      several(10_000, () => bytes),
      '127.0.0.2',
    );
    assert.equal((await ask(calm, '/healthz')).status, 200);
    assert.equal(await isServed(server, '127.0.0.2'), false);
    time += 10_000;
    assert.equal(await isServed(server, '127.0.0.2'), true);
  });
}

for (const [what, frames] of [
  [
    'pings',
    several(3000, () =>
      frame(
        FRAME.ping,
        0,
        0,
        several(8, () => 0),
      ),
    ),
  ],
  ['empty data', [headers(1, 0), ...several(300, () => frame(FRAME.data, 0, 1))]],
] as const) {
  test(`a host that sends more ${what} than Node allows gets no new connection for a while`, async (t) => {
    const server = await serverOf(t);
    await server.listen();
    await flood(server, frames, '127.0.0.2');
    assert.deepEqual(await Promise.all([isServed(server, '127.0.0.2'), isServed(server, '127.0.0.3')]), [false, true]);
  });
}

test('a connection without a request is closed: a new one soon, a used one as late as over HTTP/1.1', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const server = await serverOf(t);
  const sessions: unknown[] = [];
  server.http.server.on('session', (session) => sessions.push(session));
  await server.listen();
  const silent = server.http2();
  await waitForReal(() => sessions.length === 1);
  t.mock.timers.tick(9_999);
  assert.equal(silent.closed, false);
  const goodbye = closeOf(silent);
  t.mock.timers.tick(1);
  await goodbye;

  const used = server.http2();
  await ask(used, '/healthz');
  t.mock.timers.tick(74_999);
  await ask(used, '/healthz');
  t.mock.timers.tick(74_999);
  assert.equal(used.closed, false);
  const end = closeOf(used);
  // Pings do not count as requests.
  await new Promise((resolve) => used.ping(resolve));
  t.mock.timers.tick(1);
  await end;
});

test('a body that does not arrive in time ends its request, and no other', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const server = await serverOf(t);
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  server.http.addHook('preParsing', (_request, _reply, _payload, done) => {
    arrive();
    done();
  });
  server.http.post('/echo', ({ body }) => body);
  await server.listen();
  const session = server.http2();
  const slow = session.request({ ':path': '/echo', ':method': 'POST', 'content-type': 'application/json' });
  slow.on('error', () => {});
  slow.write('{');
  await arrived;
  const closed = closeOf(slow);
  t.mock.timers.tick(30_000);
  await closed;
  assert.equal(slow.rstCode, constants.NGHTTP2_CANCEL);
  assert.equal((await ask(session, '/healthz')).status, 200);
});

test('closing sends GOAWAY, lets requests in flight finish, and waits for nothing else', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const server = await serverOf(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  server.http.get('/slow', async () => {
    arrive();
    await released;
    return { done: true };
  });
  await server.listen();
  const [busy, idle] = [server.http2(), server.http2()];
  await ask(idle, '/healthz');
  const answer = ask(busy, '/slow');
  await arrived;
  const idleClosed = closeOf(idle);
  const goodbye = once(busy, 'goaway');
  const closed = server.http.close();
  await Promise.all([idleClosed, goodbye]);
  release();
  assert.deepEqual(JSON.parse((await answer).body), { done: true });
  await closed;
});

test('closing disconnects, in the end, a request or a handshake that never finishes', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const server = await serverOf(t);
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  server.http.get('/never', () => {
    arrive();
    return new Promise(() => {});
  });
  let connections = 0;
  server.http.server.on('connection', () => {
    connections += 1;
  });
  await server.listen();
  const session = server.http2();
  session.request({ ':path': '/never' }).on('error', () => {});
  await arrived;
  const mute = server.tcp();
  await waitForReal(() => connections === 2);
  const gone = Promise.all([closeOf(session), closeOf(mute.resume())]);
  const closed = server.http.close();
  await waitForReal(() => !server.http.server.listening);
  t.mock.timers.tick(2000);
  await Promise.all([closed, gone]);
});

test('a renewed certificate is presented to new connections, and open ones stay', async (t) => {
  const server = await serverOf(t);
  await server.listen();
  const before = server.http2();
  await ask(before, '/healthz');
  const next = makeCertificate();
  await writeCertificate(server.folder, next);
  const { port } = server.http.server.address() as AddressInfo;
  await waitFor(async () => (await fingerprintAt(port)) === next.fingerprint, { what: 'the new certificate' });
  assert.equal((await ask(before, '/healthz')).status, 200);
});

/** Waits for a condition in tests that mock the timers. */
async function waitForReal(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test('a connection beyond the limit is closed before its TLS handshake, and disturbs no other', async (t) => {
  const server = await serverOf(t, { maxConnections: 1 });
  await server.listen();
  const session = server.http2();
  assert.equal((await ask(session, '/healthz')).status, 200);
  for (let each = 0; each < 20; each += 1) {
    const refused = server.http2();
    await closeOf(refused);
  }
  assert.equal((await ask(session, '/healthz')).status, 200);
});

test('a host that opens connection after connection has them closed before the handshake, until its allowance is back', async (t) => {
  const clock = { now: () => ms(0), monotonic: () => ms(time) };
  let time = 0;
  const server = await serverOf(t, { clock });
  await server.listen();
  let admitted = 0;
  // Connections are ended before their handshake, because 1,300 handshakes would make the test slow.
  server.http.server.on('connection', (socket) => {
    if (!socket.destroyed) admitted += 1;
    socket.destroy();
  });
  const knock = () => closeOf(server.tcp().resume());
  for (let each = 0; each < 1300; each += 1) await knock();
  assert.equal(admitted, 1200);
  time += 1000;
  for (let each = 0; each < 30; each += 1) await knock();
  assert.equal(admitted, 1220);
});

test('the handshakes of a host that sent a request as another node do not wait', { timeout: 120_000 }, async (t) => {
  const server = await serverOf(t);
  server.http.post('/node', (request) => {
    server.http.trustNode(request);
    return 'ok';
  });
  await server.listen();
  const first = await server.tls(['http/1.1'], '127.0.0.2');
  first.end('POST /node HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  assert.match(await text(first), /^HTTP\/1\.1 200 /);
  // No timer fires from here on, so a handshake that has to wait never begins.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await Promise.all(several(60, () => server.tls([], '127.0.0.2')));
});

test('connections that are reset before the server accepts them are closed, and raise no error that nothing handles', async (t) => {
  const { http, listen } = await serverOf(t);
  const { port } = await listen();
  // While this process waits for the child, it accepts nothing.
  const client = `
    const { connect } = require('node:net');
    for (let count = 0; count < 50; count++) {
      const socket = connect(${port}, '127.0.0.1', () => socket.resetAndDestroy());
    }`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', client], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const open = () => new Promise<number>((resolve) => http.server.getConnections((_, count) => resolve(count)));
  let accepted = 0;
  http.server.prependListener('connection', () => (accepted += 1));
  await waitFor(async () => accepted === 50 && (await open()) === 0, { what: 'the end of all connections' });
});

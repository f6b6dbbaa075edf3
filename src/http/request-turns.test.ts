import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { Flooders } from './flooders.ts';
import { createHttp, listenHttp } from './http.ts';
import { inTurns, perTurnAfter } from './request-turns.ts';

const REQUEST = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n';
const LAST = 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';

/** A server that counts the requests that Node parses. */
async function serverOf(t: TestContext) {
  let time = 0;
  const clock = { now: () => ms(0), monotonic: () => ms(time) };
  const settings = { maxConnections: 100, trustedProxies: [], publicUrl: undefined };
  const http = createHttp({ settings, logger: silentLogger, metrics: createMetrics(), clock });
  let parsed = 0;
  http.server.on('request', () => {
    parsed += 1;
  });
  const { port } = await listenHttp(http, { host: '0.0.0.0', port: 0 });
  t.after(() => {
    http.server.closeAllConnections();
    return http.close();
  });
  return {
    parsed: () => parsed,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    /** What the server answers to these bytes until it closes the connection. */
    send: async (bytes: string, localAddress = '127.0.0.1') => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.write(bytes);
      return await text(socket).catch(() => '');
    },
  };
}

test('pipelined requests are all answered, in their order', async (t) => {
  const server = await serverOf(t);
  const answers = await server.send(REQUEST.repeat(19) + LAST);
  assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 20);
});

test('a connection that pipelines too many requests is closed, and the rest of its bytes is never parsed', async (t) => {
  const server = await serverOf(t);
  await server.send(REQUEST.repeat(1500));
  assert.ok(server.parsed() <= 33, `${server.parsed()} requests were parsed`);
});

test('a host that was disconnected for its flood gets no new connection for ten seconds, and other hosts do', async (t) => {
  const server = await serverOf(t);
  await server.send(REQUEST.repeat(1500), '127.0.0.2');
  assert.equal(await server.send(LAST, '127.0.0.2'), '');
  assert.match(await server.send(LAST, '127.0.0.3'), /^HTTP\/1\.1 200/);
  server.pass(10_000);
  assert.match(await server.send(LAST, '127.0.0.2'), /^HTTP\/1\.1 200/);
});

/** Requests that never reach a server, and the sockets of those that were started. */
function turns({ trustedProxies = [] }: { readonly trustedProxies?: readonly string[] } = {}) {
  const started: unknown[] = [];
  const isTrustedProxy = (address: string) => trustedProxies.includes(address);
  const clock = { now: () => ms(0), monotonic: () => ms(0) };
  const flooders = new Flooders({ clock, isTrustedProxy, logger: silentLogger });
  const nodes = new Set<object>();
  const serve = inTurns(({ socket }) => void started.push(socket), { clock, flooders, isTrustedProxy, nodes });
  const connection = (remoteAddress: string) => {
    const socket = { remoteAddress, destroyed: false, destroy: () => Object.assign(socket, { destroyed: true }) };
    const send = () => {
      // Node marks a request without a body as destroyed from the beginning.
      const request = { socket, httpVersionMajor: 1, destroyed: true };
      serve(request as unknown as IncomingMessage, {} as ServerResponse);
      return socket;
    };
    return { socket, send };
  };
  /** Sends a request over HTTP/2. Returns its socket object, which no other request has. */
  const stream = (remoteAddress: string, session: object) => {
    const socket = { remoteAddress };
    const request = { socket, httpVersionMajor: 2, stream: { session, destroyed: false } };
    serve(request as unknown as IncomingMessage, {} as ServerResponse);
    return socket;
  };
  return { started, flooders, nodes, connection, stream };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a burst starts two requests in its first turn of the event loop, and at most sixteen in any, over however many connections', async () => {
  const { started, connection } = turns();
  for (let each = 0; each < 100; each += 1) connection(`192.0.2.${each}`).send();
  assert.equal(started.length, 2);
  for (let before = 2; started.length < 100; before = started.length) {
    await turn();
    assert.ok(started.length - before <= 16 && started.length > before);
  }
});

test('a turn that lasted long halves the requests of the next one, and a short one doubles them', () => {
  assert.equal(perTurnAfter(2, 0.2), 4);
  assert.equal(perTurnAfter(16, 0.2), 16);
  assert.equal(perTurnAfter(16, 20), 8);
  assert.equal(perTurnAfter(1, 20), 1);
});

test('hosts take turns: one request does not wait for the many of another host', async () => {
  const { started, connection } = turns();
  for (let each = 0; each < 500; each += 1) connection('192.0.2.1').send();
  const other = connection('198.51.100.1');
  other.send();
  // A turn may be as small as one request.
  for (let each = 0; each < 2; each += 1) await turn();
  assert.ok(started.includes(other.socket));
});

test('each connection of a trusted proxy takes turns of its own', async () => {
  const { started, connection } = turns({ trustedProxies: ['10.0.0.1'] });
  for (let each = 0; each < 500; each += 1) connection('192.0.2.1').send();
  const [first, second] = [connection('10.0.0.1'), connection('10.0.0.1')];
  for (let each = 0; each < 30; each += 1) first.send();
  second.send();
  for (let each = 0; each < 3; each += 1) await turn();
  assert.ok(started.includes(second.socket));
});

test('a connection of another node takes turns of its own once it is known as one', async () => {
  const { started, nodes, connection } = turns();
  for (let each = 0; each < 500; each += 1) connection('192.0.2.1').send();
  const [ofNode, other] = [connection('192.0.2.1'), connection('192.0.2.1')];
  ofNode.send();
  nodes.add(ofNode.socket);
  for (const { send } of [ofNode, other]) send();
  // A turn may be as small as one request.
  for (let each = 0; each < 2; each += 1) await turn();
  assert.equal(started.filter((socket) => socket === ofNode.socket).length, 1);
  assert.ok(!started.includes(other.socket));
});

test('an HTTP/2 connection of another node takes turns of its own, although each request has another socket object', async () => {
  const { started, nodes, connection, stream } = turns();
  for (let each = 0; each < 500; each += 1) connection('192.0.2.1').send();
  const session = {};
  nodes.add(session);
  const socket = stream('192.0.2.1', session);
  for (let each = 0; each < 2; each += 1) await turn();
  assert.ok(started.includes(socket));
});

test('a request whose connection is closed while it waits is never started', async () => {
  const { started, connection } = turns();
  const sockets = Array.from({ length: 40 }, () => connection('192.0.2.1').send());
  for (const socket of sockets) socket.destroy();
  for (let each = 0; each < 5; each += 1) await turn();
  assert.equal(started.length, 2, 'only those that were started at once');
});

test('a host that flooded recently may not pipeline while requests wait', () => {
  const { flooders, connection } = turns();
  for (let each = 0; each < 20; each += 1) connection('192.0.2.9').send();
  flooders.add('192.0.2.1', 'pipelined_requests');
  const patient = connection('192.0.2.1');
  patient.send();
  assert.equal(patient.socket.destroyed, false);
  patient.send();
  assert.equal(patient.socket.destroyed, true);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { createHttp, listenHttp } from './http.ts';

/**
 * A server with a limit on its connections, and functions that open connections to it from loopback addresses.
 * @param isNode whether the requests that come now are those of another node
 */
async function serverOf(
  t: TestContext,
  maxConnections: number,
  trustedProxies: readonly string[] = [],
  isNode = () => false,
) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  const settings = { maxConnections, trustedProxies, publicUrl: undefined };
  const http = createHttp({ settings, logger, metrics: createMetrics() });
  http.addHook('onRequest', async (request) => {
    if (isNode()) http.trustNode(request);
  });
  await listenHttp(http, { host: '0.0.0.0', port: 0 });
  t.after(() => {
    http.server.closeAllConnections();
    return http.close();
  });
  const { port } = http.server.address() as AddressInfo;
  /** Opens a connection and resolves with it once it is answered, or with undefined when the server closes it instead. */
  async function open(localAddress: string): Promise<Socket | undefined> {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    t.after(() => socket.destroy());
    socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    const outcome = await Promise.race([
      once(socket, 'data').then(() => socket),
      once(socket, 'close').then(() => undefined),
    ]);
    return outcome;
  }
  const openMany = async (count: number, address: string) => {
    const sockets: (Socket | undefined)[] = [];
    for (let each = 0; each < count; each += 1) sockets.push(await open(address));
    return sockets.map((socket) => socket!);
  };
  return { open, openMany, lines };
}

test('when all connections are taken, a network with few gets in and the one with the most loses its oldest', async (t) => {
  const { open, openMany, lines } = await serverOf(t, 10);
  const taken = await openMany(10, '127.0.1.1');
  assert.equal(await open('127.0.1.1'), undefined, 'the network that has taken all of them gets no more');
  const evicted = [once(taken[0]!, 'close'), once(taken[1]!, 'close')];
  const others = [await open('127.0.2.1'), await open('127.0.3.1')];
  await Promise.all(evicted);
  assert.ok(others.every((socket) => socket !== undefined && !socket.destroyed));
  assert.ok(taken.slice(2).every((socket) => !socket.destroyed));
  assert.deepEqual(lines, [], 'closed connections are logged together');
  t.mock.timers.tick(1000);
  const { closed, networks, limit } = JSON.parse(lines.join(''));
  assert.deepEqual({ closed, networks, limit }, { closed: 3, networks: 1, limit: 10 });
});

test('a connection of another node keeps its place, while the other connections of its host compete', async (t) => {
  let isNode = true;
  const { open, openMany } = await serverOf(t, 10, [], () => isNode);
  const ofNode = await openMany(5, '127.0.1.1');
  isNode = false;
  const ofHost = await openMany(5, '127.0.1.1');
  const evicted = ofHost.slice(0, 4).map((socket) => once(socket, 'close'));
  for (const network of [2, 3, 4, 5]) assert.ok((await open(`127.0.${network}.1`)) !== undefined);
  await Promise.all(evicted);
  assert.equal(await open('127.0.6.1'), undefined, 'every network has one place now');
  for (const socket of ofNode) {
    socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(socket, 'data');
  }
  ofNode[0]!.destroy();
  while ((await open('127.0.6.1')) === undefined);
});

test('a connection that ends gives its place back', async (t) => {
  const { open, openMany } = await serverOf(t, 2);
  const [first] = await openMany(2, '127.0.1.1');
  first!.destroy();
  while ((await open('127.0.1.1')) === undefined);
});

test('a trusted proxy gets further connections although all are taken, and loses none to others', async (t) => {
  const { open, openMany } = await serverOf(t, 10, ['127.0.9.1']);
  const strangers = await openMany(5, '127.0.1.1');
  const proxied = await openMany(5, '127.0.9.1');
  const evicted = strangers.slice(0, 2).map((socket) => once(socket, 'close'));
  assert.ok(await open('127.0.9.1'), 'the proxy gets one more');
  assert.ok(await open('127.0.2.1'), 'another network gets one as well');
  await Promise.all(evicted);
  assert.ok(proxied.every((socket) => !socket.destroyed));
});

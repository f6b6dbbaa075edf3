import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { createHttp, listenHttp } from './http.ts';

/** A server that notes how many requests it starts in each turn of the event loop. */
async function serverOf(t: TestContext) {
  const settings = { maxConnections: 100, trustedProxies: [], publicUrl: undefined };
  const http = createHttp({ settings, logger: silentLogger, metrics: createMetrics() });
  const startedInTurns: number[] = [];
  let started = 0;
  http.addHook('onRequest', (_request, _reply, done) => {
    if (started === 0) {
      setImmediate(() => {
        startedInTurns.push(started);
        started = 0;
      });
    }
    started += 1;
    done();
  });
  const { port } = await listenHttp(http, { host: '127.0.0.1', port: 0 });
  t.after(() => {
    http.server.closeAllConnections();
    return http.close();
  });
  assert.equal((http.server.address() as AddressInfo).port, port);
  return { port, startedInTurns };
}

const REQUEST = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n';
const LAST = 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';

test('requests sent at once on a connection are all answered, a few in each turn of the event loop', async (t) => {
  const { port, startedInTurns } = await serverOf(t);
  const socket = connect(port, '127.0.0.1');
  socket.write(REQUEST.repeat(59) + LAST);
  const answers = await text(socket);
  assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 60);
  assert.equal(
    startedInTurns.reduce((sum, count) => sum + count),
    60,
  );
  // Those that started the first turn, and those of the next, which are counted with them.
  assert.ok(Math.max(...startedInTurns) <= 16, startedInTurns.join());
});

test('a connection that sends far more requests than it takes answers is closed', async (t) => {
  const { port, startedInTurns } = await serverOf(t);
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.write(REQUEST.repeat(5000));
  await new Promise((resolve) => socket.resume().once('close', resolve));
  const response = await fetch(`http://127.0.0.1:${port}/healthz`);
  assert.equal(response.status, 200);
  assert.ok(startedInTurns.reduce((sum, count) => sum + count) < 100, startedInTurns.join());
});

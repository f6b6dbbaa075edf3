/**
 * How publishers are protected from strangers, who compete with them for connections, TLS handshakes and the log. Attackers and victims
 * come from different networks of 127.0.0.0/8.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { CertificateWatch } from '#lib/certificate-watch.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { GOOD_KEY } from '../support/recording-gate.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startTestRtmpServer, type TestRtmpServer } from '../support/rtmp-server.ts';
import { waitFor } from '../support/wait-for.ts';

const ENCODER = '127.200.0.1';

/** The first bytes of a TLS connection whose ClientHello never ends. */
const HALF_A_HELLO = Buffer.from('160301020001', 'hex');

/** Until it is disposed, keeps `places` connections open, each from a new /24, sends `opening` on each, and replaces those that close. */
function besiege(port: number, { places, opening }: { places: number; opening: Buffer }): Disposable {
  const sockets = new Set<Socket>();
  let network = 0;
  let isOver = false;
  const attack = () => {
    if (isOver) return;
    network += 1;
    const localAddress = `127.${100 + (network >> 8)}.${network & 255}.1`;
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => socket.write(opening));
    sockets.add(socket);
    socket.on('error', () => {}).resume();
    socket.once('close', () => {
      sockets.delete(socket);
      setImmediate(attack);
    });
  };
  for (let count = 0; count < places; count++) attack();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Makes and opens a certificate for a test. */
async function openCertificate(t: TestContext): Promise<CertificateWatch> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-strangers-'));
  t.after(() => rm(folder, { recursive: true }));
  const { MILLRACE_TLS_CERT, MILLRACE_TLS_KEY } = await writeCertificate(folder, makeCertificate());
  const certificate = await CertificateWatch.open({ certFile: MILLRACE_TLS_CERT, keyFile: MILLRACE_TLS_KEY });
  t.after(() => certificate[Symbol.dispose]());
  return certificate;
}

const lines = ({ logLines }: TestRtmpServer, message: string) =>
  logLines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg, level }) => msg === message && level !== 20);

/** How many occurrences some counted lines stand for. */
const countedBy = (noted: ReturnType<typeof lines>): number => noted.reduce((sum, { count }) => sum + Number(count), 0);

const isRefused = (server: TestRtmpServer) =>
  waitFor(() => server.logLines.some((line) => line.includes('too_many_unauthenticated')), {
    what: 'all places to be taken',
  });

describe('an encoder that published before', { concurrency: true }, () => {
  it('reconnects while strangers from hundreds of networks compete for every place', async () => {
    await using server = await startTestRtmpServer({ rtmpMaxUnauthenticated: 40, rtmpConnectionsPerMinute: 1_000_000 });
    const publish = () => RtmpClient.publish(server.port, GOOD_KEY, 'live', { from: ENCODER });
    (await publish()).drop();
    await server.gate.ended();
    using _siege = besiege(server.port, { places: 60, opening: Buffer.of(3) });
    await isRefused(server);
    for (let round = 0; round < 5; round++) {
      const client = await publish();
      client.drop();
      await client.closed();
    }
    assert.equal(server.gate.publications.length, 6);
    await assert.rejects(
      RtmpClient.publish(server.port, GOOD_KEY, 'live', { from: '127.201.0.1' }),
      'a host that has not published competes with the strangers',
    );
  });

  it('reconnects over RTMPS while strangers leave every TLS handshake unfinished', async (t) => {
    const certificate = await openCertificate(t);
    await using server = await startTestRtmpServer(
      { rtmpMaxUnauthenticated: 60, rtmpConnectionsPerMinute: 1_000_000 },
      certificate,
    );
    const publish = () => RtmpClient.publish(server.tlsPort, GOOD_KEY, 'live', { tls: true, from: ENCODER });
    (await publish()).socket.destroy();
    await server.gate.ended();
    server.runClock();
    using _siege = besiege(server.tlsPort, { places: 80, opening: HALF_A_HELLO });
    await isRefused(server);
    for (let round = 0; round < 5; round++) {
      const client = await publish();
      client.socket.destroy();
      await client.closed();
    }
    assert.equal(server.gate.publications.length, 6);
  });
});

describe('the log', { concurrency: true }, () => {
  it('counts refusals instead of writing a line for each', async () => {
    const server = await startTestRtmpServer();
    const refused = Array.from({ length: 60 }, (_, index) => {
      const from = `127.10.${index % 3}.1`;
      return assert.rejects(RtmpClient.publish(server.port, 'no-such-key', 'live', { from }));
    });
    await Promise.all(refused);
    await server.server[Symbol.asyncDispose]();
    const noted = lines(server, 'publishers refused');
    // One a second.
    assert.ok(noted.length <= 30, `${noted.length} lines`);
    assert.ok(noted.every(({ code }) => code === 'stream_key_invalid'));
    assert.equal(countedBy(noted), 60);
    assert.equal(Math.max(...noted.map(({ networks }) => Number(networks))), 3);
  });

  it('counts messages that no encoder sends instead of writing a line for each connection and second', async () => {
    const server = await startTestRtmpServer();
    const sent = Array.from({ length: 60 }, async () => {
      await using client = await RtmpClient.open(server.port);
      await client.handshake();
      await client.connect();
      client.command('noSuchCommand', null);
      client.end();
      await client.closed();
    });
    await Promise.all(sent);
    await server.server[Symbol.asyncDispose]();
    const noted = lines(server, 'publishers sent unusable messages');
    assert.ok(noted.length <= 30, `${noted.length} lines`);
    assert.ok(noted.every(({ fault }) => fault === 'command_unknown'));
    assert.equal(countedBy(noted), 60);
  });

  it('counts TLS alerts and bytes that are not TLS as one kind', async (t) => {
    const certificate = await openCertificate(t);
    const server = await startTestRtmpServer({}, certificate);
    const FATAL_ALERT = Buffer.from('15030300020228', 'hex');
    for (const bytes of [FATAL_ALERT, Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(100, 0xff)]) {
      for (let count = 0; count < 20; count++) {
        const socket = connect(server.tlsPort, '127.0.0.1').on('error', () => {});
        socket.end(bytes);
        await once(socket.resume(), 'close');
      }
    }
    await server.server[Symbol.asyncDispose]();
    const noted = lines(server, 'connections failed');
    assert.ok(noted.length <= 30, `${noted.length} lines`);
    assert.equal(countedBy(noted.filter(({ fault }) => fault === 'tls_failed')), 60);
  });

  it('has separate lines for thirty publishes of one address in a minute, and counts further ones', async () => {
    const server = await startTestRtmpServer();
    for (let index = 0; index < 40; index++) {
      await using client = await RtmpClient.publish(server.port, GOOD_KEY, 'live', { from: ENCODER });
      client.unpublish(GOOD_KEY);
      await waitFor(() => server.gate.publication.ends.length === 1, { what: 'the end of the publish' });
    }
    await server.server[Symbol.asyncDispose]();
    assert.equal(lines(server, 'publisher accepted').length, 30);
    assert.equal(lines(server, 'publisher ended').length, 30);
    assert.equal(countedBy(lines(server, 'publishers ended')), 10);
  });
});

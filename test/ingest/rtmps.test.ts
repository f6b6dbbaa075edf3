/**
 * RTMP in TLS: real encoders can publish, and strangers cost no more than over plain TCP.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CertificateWatch } from '#lib/certificate-watch.ts';
import { fingerprintAt, makeCertificate, writeCertificate } from '../support/certificate.ts';
import { startEncoder } from '../support/external-encoder.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { startPublisher } from '../support/publisher.ts';
import { GOOD_KEY } from '../support/recording-gate.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startTestRtmpServer } from '../support/rtmp-server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const TAGS = fixtureTags();

/** Starts a server with a certificate in a folder. Both are removed after the test. */
async function serverOf(t: TestContext, settings: Parameters<typeof startTestRtmpServer>[0] = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-rtmps-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = await writeCertificate(folder, makeCertificate());
  const { MILLRACE_TLS_CERT: certFile, MILLRACE_TLS_KEY: keyFile } = files;
  const certificate = await CertificateWatch.open({ certFile, keyFile });
  t.after(() => certificate[Symbol.dispose]());
  const server = await startTestRtmpServer(settings, certificate);
  t.after(() => server[Symbol.asyncDispose]());
  return { ...server, folder, certFile, certificate, url: `rtmps://127.0.0.1:${server.tlsPort}/live/${GOOD_KEY}` };
}

test('ffmpeg of the system publishes, and checks the certificate', needs('ffmpeg'), async (t) => {
  const { gate, url, certFile } = await serverOf(t);
  const command =
    '-nostdin -loglevel error -re -f lavfi -i testsrc2=size=320x180:rate=30 -f lavfi -i sine=sample_rate=48000 ' +
    `-t 1 -c:v libx264 -preset ultrafast -g 30 -pix_fmt yuv420p -c:a aac -f flv -tls_verify 1 -ca_file ${certFile} ${url}`;
  await using encoder = startEncoder('ffmpeg', command.split(' '));
  const { code, output } = await encoder.ended;
  assert.equal(code, 0, output);
  const publication = await gate.ended();
  assert.deepEqual(publication.ends, ['unpublished']);
  assert.equal(publication.request.protocol, 'rtmps');
  assert.equal(publication.of('video').length, 30);
});

test('GStreamer’s rtmp2sink publishes', needs('gst-launch-1.0'), async (t) => {
  const { gate, url } = await serverOf(t);
  const pipeline = [
    'videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=320,height=180,framerate=30/1',
    '! x264enc key-int-max=30 speed-preset=ultrafast ! h264parse ! flvmux streamable=true',
    `! rtmp2sink timeout=60 tls-validation-flags=0 location=${url}`,
  ].join(' ');
  await using encoder = startEncoder('gst-launch-1.0', ['-q', ...pipeline.split(' ')]);
  const { code, output } = await encoder.ended;
  assert.equal(code, 0, output);
  const publication = await gate.ended();
  assert.deepEqual(publication.ends, ['unpublished']);
  assert.equal(publication.of('video').length, 30);
});

test('FFmpeg 8 publishes, and its bytes are counted as RTMPS', async (t) => {
  const { gate, url, metrics } = await serverOf(t);
  await using publisher = await startPublisher({ url, durationS: 1 });
  assert.equal((await publisher.ended).reason, 'finished');
  assert.deepEqual((await gate.ended()).ends, ['unpublished']);
  const { values } = await metrics.ingestBytes.get();
  assert.deepEqual(
    values.map(({ labels }) => labels),
    [{ protocol: 'rtmps' }],
  );
});

test('a new certificate does not affect a publisher that is connected', async (t) => {
  const { gate, tlsPort, folder, certificate } = await serverOf(t);
  await using client = await RtmpClient.publish(tlsPort, GOOD_KEY, 'live', { tls: true });
  client.tags(TAGS.slice(0, 20));
  const next = makeCertificate();
  await writeCertificate(folder, next);
  await waitFor(() => certificate.current.options.cert === next.cert, { what: 'the new certificate' });
  assert.equal(await fingerprintAt(tlsPort), next.fingerprint);
  client.tags(TAGS.slice(20));
  await gate.until('all media', () => gate.publication.of('video').length === 50);
  assert.deepEqual(gate.publication.ends, []);
});

test('a connection that does not finish its handshake counts from its first packet, and is closed at the timeout', async (t) => {
  const server = await serverOf(t, { rtmpMaxUnauthenticated: 3 });
  const { tlsPort, logLines } = server;
  const mute = [1, 2, 3].map(() => connect(tlsPort, '127.0.0.1').on('error', () => {}));
  await Promise.all(mute.map((socket) => once(socket, 'connect')));
  const closed = Promise.all(mute.map((socket) => once(socket.resume(), 'close')));
  // A handshake that has begun makes no difference.
  mute[0]!.write(Buffer.from('16030100', 'hex'));
  await waitFor(
    async () => {
      const fourth = connect(tlsPort, '127.0.0.1').on('error', () => {});
      await once(fourth.resume(), 'close');
      return logLines.some((line) => line.includes('too_many_unauthenticated'));
    },
    { what: 'a fourth connection to be refused' },
  );
  await server.advance(5000);
  await closed;
  await waitFor(() => logLines.some((line) => line.includes('handshake_timeout')), { what: 'the reason in the log' });
  await using client = await RtmpClient.publish(tlsPort, GOOD_KEY, 'live', { tls: true });
  client.tags(TAGS.slice(0, 5));
});

test('bytes that are not TLS end their own connection only', async (t) => {
  const { gate, tlsPort } = await serverOf(t);
  await using client = await RtmpClient.publish(tlsPort, GOOD_KEY, 'live', { tls: true });
  client.tags(TAGS.slice(0, 20));
  for (const bytes of [
    Buffer.of(3),
    Buffer.alloc(1537, 3),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.from('16030100', 'hex'),
  ]) {
    const stranger = connect(tlsPort, '127.0.0.1').on('error', () => {});
    stranger.end(bytes);
    await new Promise((resolve) => stranger.resume().once('close', resolve));
  }
  client.tags(TAGS.slice(20));
  await gate.until('all media', () => gate.publication.of('video').length === 50);
  client.socket.destroy();
  assert.deepEqual((await gate.ended()).ends, ['connection_lost']);
});

test('without a certificate there is no RTMPS, and plain RTMP can be turned off', async (t) => {
  await using plain = await startTestRtmpServer();
  assert.deepEqual(
    plain.server.addresses.map(({ scheme }) => scheme),
    ['rtmp'],
  );
  const { server } = await serverOf(t, { rtmpPort: undefined });
  assert.deepEqual(
    server.addresses.map(({ scheme }) => scheme),
    ['rtmps'],
  );
});

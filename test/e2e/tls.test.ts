/**
 * The whole service over TLS: a browser over HTTP/2, viewers who wait, an encoder over RTMPS, and a certificate that is renewed meanwhile.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import type { CreatedStream } from '../support/api-client.ts';
import { fingerprintAt, makeCertificate, type TestCertificate, writeCertificate } from '../support/certificate.ts';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type Publisher, startPublisher } from '../support/publisher.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { NEEDS_NGINX, startDeployedNginx } from './nginx.ts';
import { firstFrameSince, readFrames, untilSmooth } from './seen-frames.ts';
import { mediaPlaylistUris, nextDirectives } from './viewer.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/millrace.js');
const FPS = 15;
const VIDEO = { width: 320, height: 180, bitrateBps: 1_500_000, fps: { num: FPS, den: 1 }, gop: 2 * FPS };
const NEEDS_BOTH = { skip: NEEDS_NGINX.skip || NEEDS_CHROMIUM.skip };

const parts = new AsyncDisposableStack();
const first = makeCertificate({ name: 'first' });
const second = makeCertificate({ name: 'second' });
let folder: string;
let server: ServerProcess;
let stream: CreatedStream;
let publisher: Publisher;
/** The browser of all tests, once one has started it. */
let browser: ReturnType<typeof launchChromium> | undefined;

before(async () => {
  // For `fetch`, which takes no certificate of its own.
  setDefaultCACertificates([...getCACertificates(), first.cert, second.cert]);
  folder = await mkdtemp(join(tmpdir(), 'millrace-tls-'));
  parts.defer(() => rm(folder, { recursive: true }));
  server = parts.use(await startServerProcess({ settings: await writeCertificate(folder, first) }));
  stream = await server.api.createStream();
  publisher = parts.use(await startPublisher({ url: rtmpsUrl(), video: VIDEO }));
  const isLive = async () => (await fetch(server.playlistUrl(stream.playbackId))).status === 200;
  await waitFor(isLive, { what: 'the stream to be there' });
});
after(async () => {
  await (await browser)?.[Symbol.asyncDispose]();
  await parts.disposeAsync();
});

/** A new page, which accepts the certificates of these tests. */
async function newPage() {
  browser ??= launchChromium();
  return await (await browser).newPage({ ignoreHTTPSErrors: true });
}

const rtmpsUrl = () => `rtmps://127.0.0.1:${server.rtmpsPort}/live/${stream.streamKey}`;

describe('in TLS', () => {
  test('the API says where to publish and play, encrypted', async () => {
    const base = server.url;
    assert.match(base, /^https:/);
    const answer = await fetch(`${base}/api/ingest`);
    assert.match(answer.headers.get('strict-transport-security') ?? '', /max-age/);
    const rest = { playback: `${base}/hls`, base, origin: base };
    assert.deepEqual(await answer.json(), [
      { ingest: `rtmp://127.0.0.1:${server.rtmpPort}/live`, ...rest },
      { ingest: `rtmps://127.0.0.1:${server.rtmpsPort}/live`, ...rest },
    ]);
  });

  test('two hundred requests of one connection wait for the same part, and get a playlist with it', async () => {
    using session = viewer();
    const { url, playlist } = await playlistOf(session);
    const path = `${url}?${nextDirectives(playlist)}`;
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(session, path)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const playlists = new Set(answers.map(({ body }) => body.toString()));
    for (const each of playlists) assert.notEqual(nextDirectives(readMediaPlaylist(each)), nextDirectives(playlist));
    // On a busy machine the server reads some of the requests only when the part after that exists.
    assert.ok(playlists.size <= 50, `${playlists.size} playlists`);
  });

  test('media is the same, byte for byte, over HTTP/2 and HTTP/1.1', async () => {
    using session = viewer();
    const { url, playlist } = await waitFor(
      async () => {
        const found = await playlistOf(session);
        return found.playlist.segments.some(({ uri }) => uri !== undefined) && found;
      },
      { what: 'a whole segment' },
    );
    const { uri } = playlist.segments.find((segment) => segment.uri !== undefined)!;
    const path = new URL(uri!, `https://a${url}`).pathname;
    const old = await fetch(server.url + path);
    const expected = Buffer.from(await old.arrayBuffer());
    assert.ok(expected.length > 70_000, `${expected.length} bytes`);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(session, path)));
    for (const { headers, body } of answers) {
      assert.equal(headers['content-length'], String(expected.length));
      assert.ok(body.equals(expected));
    }
    const range = await ask(session, path, { range: 'bytes=20000-69999' });
    assert.equal(range.status, 206);
    assert.ok(range.body.equals(expected.subarray(20_000, 70_000)));
  });

  test('a renewed certificate disconnects neither a viewer who waits nor an encoder, and is used for new connections', async () => {
    using session = viewer();
    const { url, playlist } = await playlistOf(session);
    const path = `${url}?_HLS_msn=${playlist.segments.at(-1)!.msn + 1}`;
    const waiting = ask(session, path);
    await writeCertificate(folder, second);
    for (const port of [server.httpPort, server.rtmpsPort]) {
      await waitFor(async () => (await fingerprintAt(port)) === second.fingerprint, { what: 'the new certificate' });
    }
    const { status, body } = await waiting;
    if (status !== 200) {
      // The publisher was late, so the request timed out. The answer still came over the connection that this test is about.
      assert.equal(JSON.parse(body.toString()).code, 'playlist_timeout');
      await waitFor(async () => (await ask(session, path)).status === 200, { what: 'the segment' });
    }
    const later = readMediaPlaylist((await ask(session, url)).body.toString());
    assert.ok(later.segments.at(-1)!.msn > playlist.segments[0]!.msn);
    assert.equal(later.discontinuitySequence, playlist.discontinuitySequence);
    const { isActive } = await server.api.getStream(stream.id);
    assert.equal(isActive, true);
    assert.ok(!server.logLines.some((line) => line.includes('connection_lost')));

    const refused = () => server.logLines.filter((line) => line.includes('new certificate refused'));
    const before = refused().length;
    await writeCertificate(folder, { ...second, key: first.key });
    await waitFor(() => refused().length > before, { what: 'the refusal of a broken pair' });
    assert.equal(await fingerprintAt(server.httpPort), second.fingerprint);
    await writeCertificate(folder, second);
    assert.equal(refused().length, before + 1);

    const metrics = await (await fetch(server.metricsUrl)).text();
    const [, expiry] = /^millrace_tls_certificate_expiry_timestamp_seconds{[^}]*} (\d+)$/m.exec(metrics) ?? [];
    assert.equal(Number(expiry), Date.parse(new X509Certificate(second.cert).validTo) / 1000);
  });

  test('a connection of plain HTTP to the port of HTTPS is closed, without effect on others', async () => {
    const socket = connect(server.httpPort, '127.0.0.1').on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    assert.doesNotMatch(await text(socket), /200/);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  });

  test('the player page plays in Chromium over HTTP/2', NEEDS_CHROMIUM, async () => {
    await plays(server.url, [new URL(server.url).host]);
  });

  describe('behind nginx as deploy/nginx.conf sets it up', NEEDS_BOTH, () => {
    let behind: ServerProcess;
    let nginx: Awaited<ReturnType<typeof startDeployedNginx>>;
    let proxied: CreatedStream;
    before(async () => {
      behind = parts.use(await startServerProcess({ settings: { MILLRACE_TRUSTED_PROXIES: 'loopback' } }));
      proxied = await behind.api.createStream({ name: 'behind nginx' });
      parts.use(await startPublisher({ url: behind.rtmpUrl(proxied.streamKey), video: VIDEO }));
      const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
      nginx = parts.use(await startDeployedNginx([new URL(behind.url).host], files));
    });

    test('the player page plays', async () => {
      const [entry] = (await (await fetch(`${nginx.url}/api/ingest`)).json()) as readonly { playback: string }[];
      assert.equal(entry!.playback, `${nginx.url}/hls`);
      await plays(nginx.url, [new URL(nginx.url).host], proxied);
      const index = `${nginx.url}/hls/${proxied.playbackId}/index.m3u8`;
      const uri = mediaPlaylistUris(await (await fetch(index)).text())[0]!;
      const playlistUrl = new URL(uri, index).href;
      const { segments } = readMediaPlaylist(await (await fetch(playlistUrl)).text());
      const segment = new URL(segments.find((each) => each.uri !== undefined)!.uri!, playlistUrl).href;
      await (await fetch(segment)).arrayBuffer();
      const again = await fetch(segment);
      assert.equal(again.headers.get('x-cache'), 'HIT');
    });

    test('the dashboard signs in, gets events and plays a preview', async () => {
      const { id } = proxied;
      await using watched = await newPage();
      const { page } = watched;
      await page.goto(`${nginx.url}/dashboard/streams/${id}`);
      await page.getByLabel('API key').fill(behind.apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'behind nginx' }).waitFor();
      const [cookie] = await page.context().cookies();
      assert.match(cookie!.name, /^__Host-millrace/);
      assert.deepEqual([cookie!.secure, cookie!.httpOnly, cookie!.sameSite], [true, true, 'Strict']);
      await page.reload();
      await page.getByRole('heading', { name: 'behind nginx' }).waitFor();

      await page.locator('.liveness.live').waitFor();
      const isPlaying = () =>
        page.evaluate<boolean>(`document.querySelector('millrace-player')?.video.currentTime > 0.5`);
      await waitFor(isPlaying, { what: 'a preview that plays', timeoutMs: 120_000 });
      assert.deepEqual(watched.errors, []);
      assert.deepEqual([...watched.hosts], [new URL(nginx.url).host]);

      // The page would not show that a proxy holds events back, because it also asks for its data regularly.
      const headers = { authorization: `Bearer ${behind.apiKey}` };
      const events = await fetch(`${nginx.url}/api/event/stream?type=stream.updated`, { headers });
      const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
      await behind.api.request('PATCH', `/stream/${id}`, { name: 'renamed' });
      let received = '';
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        received += next.value;
        if (received.includes('"type":"stream.updated"')) break;
      }
      assert.match(received, /stream\.updated/);
      await reader.cancel();
      await page.getByRole('heading', { name: 'renamed' }).waitFor();
    });
  });

  test('the encoder over RTMPS was never disconnected', async () => {
    const report = await publisher.stop();
    assert.equal(report.reason, 'stopped');
  });
});

describe('a server that is told to speak TLS', { concurrency: true }, () => {
  /** Starts the program with settings that it must refuse. Returns its exit code and its output. */
  async function refusal(settings: Record<string, string>): Promise<{ code: number; said: string }> {
    const env = {
      PATH: process.env.PATH,
      MILLRACE_DATA_DIR: await mkdtemp(join(folder, 'data-')),
      ...PORTS,
      ...settings,
    };
    try {
      await promisify(execFile)(process.execPath, [PROGRAM, 'serve'], { env });
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string };
      return { code, said: stderr };
    }
    throw new Error('it started');
  }
  const PORTS = {
    MILLRACE_HTTP_PORT: '0',
    MILLRACE_RTMP_PORT: '0',
    MILLRACE_RTMPS_PORT: '0',
    MILLRACE_METRICS_PORT: '0',
  };

  const filesOf = async (certificate: TestCertificate) =>
    await writeCertificate(await mkdtemp(join(folder, 'pair-')), certificate);

  test('ends with a sentence when a file is missing, or does not fit the other', async () => {
    const good = await filesOf(first);
    const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ MILLRACE_TLS_CERT: good.MILLRACE_TLS_CERT }, /^MILLRACE_TLS_CERT is set but MILLRACE_TLS_KEY is not; .*\.$/m],
      [
        { ...good, MILLRACE_TLS_KEY: '/nowhere.pem' },
        /\/nowhere\.pem cannot be read \(ENOENT\)\. Correct MILLRACE_TLS_CERT/,
      ],
      [await filesOf({ ...first, key: second.key }), /does not belong to the first certificate/],
    ];
    await Promise.all(
      cases.map(async ([settings, expected]) => {
        const { code, said } = await refusal(settings);
        assert.equal(code, 2, said);
        assert.match(said, expected);
      }),
    );
  });

  test('starts with a certificate that has expired, and says so', async () => {
    const expired = makeCertificate({ validFrom: new Date('2020-01-01'), validTo: new Date('2021-01-01') });
    await using old = await startServerProcess({ settings: await filesOf(expired) });
    assert.ok(old.logLines.some((line) => line.includes('certificate has expired') && line.includes('2021-01-01')));
    assert.equal(await old.stop(), 0);
  });
});

/** A viewer's connection, which closes at the end of its scope. */
function viewer(): ClientHttp2Session & Disposable {
  const session = connectHttp2(server.url, { ca: [first.cert, second.cert] });
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() });
}

async function ask(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}) {
  const request = session.request({ ':path': path, ...headers });
  const [[values], body] = await Promise.all([once(request, 'response'), buffer(request)]);
  return { status: Number(values[':status']), headers: values as Record<string, string>, body };
}

/** The video's media playlist now, and its path. */
async function playlistOf(session: ClientHttp2Session) {
  const index = `/hls/${stream.playbackId}/index.m3u8`;
  const multivariant = (await ask(session, index)).body.toString();
  const uri = mediaPlaylistUris(multivariant).find((each) => each.endsWith('source.m3u8'))!;
  const url = new URL(uri, `https://a${index}`).pathname;
  return { url, playlist: readMediaPlaylist((await ask(session, url)).body.toString()) };
}

/** Asserts that the player page shows the stream without a gap over HTTP/2, and sends no request to other hosts. */
async function plays(base: string, hosts: readonly string[], played = stream): Promise<void> {
  await using watched = await newPage();
  const { page } = watched;
  const since = Date.now();
  await page.goto(`${base}/play/${played.playbackId}`);
  await readFrames(page);
  const start = await firstFrameSince(page, since - 10_000, 120_000);
  await untilSmooth(page, { fromS: start.mediaS + 1, forS: 3, framesPerSecond: FPS });
  // Only requests with an answer count, because a player also aborts requests.
  const versions = await page.evaluate(
    `[...new Set(performance.getEntriesByType('resource').filter((entry) => entry.responseStatus > 0).map((entry) => entry.nextHopProtocol))]`,
  );
  assert.deepEqual(versions, ['h2']);
  assert.deepEqual([...watched.hosts], hosts);
  assert.deepEqual(watched.errors, []);
}

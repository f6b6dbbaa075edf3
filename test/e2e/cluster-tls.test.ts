/**
 * Server processes on one PostgreSQL that use TLS between each other, with a certificate of a private authority, and addresses that
 * lead to the wrong place.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { broadcast } from './cuts.ts';
import { get, nextDirectives } from './viewer.ts';

const parts = new AsyncDisposableStack();
const certificate = makeCertificate();
let postgres: PostgresServer;
let tls: Awaited<ReturnType<typeof writeCertificate>>;

before(async () => {
  // For `fetch`, which takes no certificate of its own.
  setDefaultCACertificates([...getCACertificates(), certificate.cert]);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-cluster-tls-'));
  parts.defer(() => rm(folder, { recursive: true }));
  tls = await writeCertificate(folder, certificate);
  postgres = parts.use(await startPostgres());
});
after(() => parts.disposeAsync());

/** Starts two servers on a database of their own. */
async function startNodes(ofBoth: Record<string, string>, ofFirst: Record<string, string> = {}) {
  await using nodes = new AsyncDisposableStack();
  const settings = { MILLRACE_DATABASE_URL: await postgres.newDatabase(), ...ofBoth };
  const one = nodes.use(await startServerProcess({ settings: { ...settings, ...ofFirst } }));
  const other = nodes.use(await startServerProcess({ settings, apiKey: one.apiKey }));
  const running = nodes.move();
  return { one, other, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

describe('nodes in TLS', () => {
  test('serve viewers of HTTP/2 from another node, who wait and leave as at the owner, and get the same bytes', async () => {
    await using nodes = await startNodes({ ...tls, NODE_EXTRA_CA_CERTS: tls.MILLRACE_TLS_CERT });
    const { one, other } = nodes;
    await using live = await broadcast(one, other);
    using session = connectTo(other);
    const { pathname: path, search } = new URL(live.playlistUrl);
    const playlist = await ask(session, `${path}${search}`);
    assert.equal(playlist.status, 200);
    const read = readMediaPlaylist(playlist.body.toString());
    const { map, parts: made } = read.segments[0]!;
    for (const uri of [map!, made[0]!.uri!]) {
      const { pathname } = new URL(uri, live.playlistUrl);
      const direct = await get(`${one.url}${pathname}`);
      assert.equal(direct.status, 200);
      assert.ok((await ask(session, pathname)).body.equals(direct.body), pathname);
      const part = await ask(session, pathname, { range: 'bytes=1-4' });
      assert.deepEqual([part.status, part.body], [206, direct.body.subarray(1, 5)]);
    }
    const next = `${path}?${nextDirectives(read)}`;
    const left = session.request({ ':path': next });
    const waiting = Array.from({ length: 50 }, () => ask(session, next));
    await heldAt(other, 51);
    await heldAt(one, 1);
    left.close(8);
    await heldAt(other, 50);
    await heldAt(one, 1);
    live.client.tags(fixtureTags(), 2000);
    const answers = await Promise.all(waiting);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(answers.map(({ body }) => body.toString())).size, 1);
  });

  test('that do not trust the certificate log it, and answer viewers 503', async () => {
    await using nodes = await startNodes(tls);
    const { one, other } = nodes;
    await using live = await broadcast(one, one);
    const refused = await waitFor(
      async () => {
        const answer = await get(live.playlistUrl.replace(one.url, other.url));
        return answer.status === 503 && answer;
      },
      { what: 'the refusal' },
    );
    assert.match(refused.body.toString(), /node_unreachable/);
    const isLogged = () => other.logLines.some((line) => /node_unreachable.*certificate/.test(line));
    await waitFor(isLogged, { what: 'the line in the log' });
  });
});

describe('an address that leads elsewhere', () => {
  for (const [where, url] of [
    ['to the node that asks', (other: ServerProcess) => other.url],
    ['to nobody', () => 'http://127.0.0.1:9'],
  ] as const) {
    test(`${where} costs its viewers an answer, and no node more than that`, async () => {
      const settings = { MILLRACE_DATABASE_URL: await postgres.newDatabase() };
      await using other = await startServerProcess({ settings });
      const wrong = { ...settings, MILLRACE_NODE_URL: url(other) };
      await using one = await startServerProcess({ settings: wrong, apiKey: other.apiKey });
      await using live = await broadcast(one, one);
      const answers = () =>
        Promise.all(Array.from({ length: 20 }, () => get(live.playlistUrl.replace(one.url, other.url))));
      const expected = url(other) === other.url ? 404 : 503;
      await waitFor(async () => (await answers()).every(({ status }) => status === expected), { what: 'a refusal' });
      assert.equal((await get(live.playlistUrl)).status, 200);
      await heldAt(other, 0);
    });
  }
});

/** A viewer's connection, which closes at the end of its scope. */
function connectTo(server: ServerProcess): ClientHttp2Session & Disposable {
  const session = connect(server.url, { ca: certificate.cert });
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() });
}

async function ask(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}) {
  const request = session.request({ ':path': path, ...headers });
  const [[values], body] = await Promise.all([once(request, 'response'), buffer(request)]);
  return { status: Number(values[':status']), body };
}

/** Waits until a server holds a number of requests. */
async function heldAt(server: ServerProcess, count: number): Promise<void> {
  const held = new RegExp(`^millrace_held_requests_count ${count}$`, 'm');
  await waitFor(async () => held.test((await get(server.metricsUrl)).body.toString()), {
    what: `${count} held requests`,
  });
}

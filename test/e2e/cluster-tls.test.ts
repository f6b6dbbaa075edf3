/**
 * Server processes on one PostgreSQL that use TLS between each other, with a certificate of a private authority, and addresses that
 * lead to the wrong place.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { type MediaPlaylist, readMediaPlaylist } from '../support/hls-playlist.ts';
import { startPostgres } from '../support/postgres.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { LONG_HOLDS, PATIENT } from './cluster-nodes.ts';
import { broadcast } from './cuts.ts';
import { holdRequests } from './held-requests.ts';
import { get, nextDirectives } from './viewer.ts';

const parts = new AsyncDisposableStack();
const certificate = makeCertificate();
/** A server that trusts the certificate. Its own address is right. */
let one: ServerProcess;
/** A server that trusts the certificate. Its address leads to `one`. */
let misled: ServerProcess;
/** A server that does not trust the certificate. Nothing listens at its address. */
let lost: ServerProcess;

before(async () => {
  // For `fetch`, which takes no certificate of its own.
  setDefaultCACertificates([...getCACertificates(), certificate.cert]);
  const folder = parts.use(await temporaryFolder());
  const tls = await writeCertificate(folder.path, certificate);
  const postgres = parts.use(await startPostgres());
  const settings = { ...PATIENT, ...LONG_HOLDS, MILLRACE_DATABASE_URL: await postgres.newDatabase(), ...tls };
  const trusting = { ...settings, NODE_EXTRA_CA_CERTS: tls.MILLRACE_TLS_CERT };
  one = parts.use(await startServerProcess({ settings: trusting }));
  const { apiKey, url } = one;
  [misled, lost] = await Promise.all([
    startServerProcess({ settings: { ...trusting, MILLRACE_NODE_URL: url }, apiKey }),
    startServerProcess({ settings: { ...settings, MILLRACE_NODE_URL: 'https://127.0.0.1:9' }, apiKey }),
  ]);
  parts.use(misled);
  parts.use(lost);
});
after(() => parts.disposeAsync());

describe('nodes in TLS', () => {
  test('serve viewers of HTTP/2 from another node, who wait and leave as at the owner, and get the same bytes', async () => {
    const other = misled;
    await using live = await broadcast(one, other);
    using session = connectTo(other);
    const { pathname: path, search } = new URL(live.playlistUrl);
    const playlist = await ask(session, `${path}${search}`);
    assert.equal(playlist.status, 200);
    const { map, parts: made } = readMediaPlaylist(playlist.body.toString()).segments[0]!;
    for (const uri of [map!, made[0]!.uri!]) {
      const { pathname } = new URL(uri, live.playlistUrl);
      const direct = await get(`${one.url}${pathname}`);
      assert.equal(direct.status, 200);
      assert.ok((await ask(session, pathname)).body.equals(direct.body), pathname);
      const part = await ask(session, pathname, { range: 'bytes=1-4' });
      assert.deepEqual([part.status, part.body], [206, direct.body.subarray(1, 5)]);
    }
    // One of the viewers leaves. All send their requests again if one is answered before that is noticed.
    const waiting = await waitFor(
      async () => {
        let leave = () => {};
        const askNext = (newest: MediaPlaylist) => {
          const next = `${path}?${nextDirectives(newest)}`;
          const left = session.request({ ':path': next });
          leave = () => left.close(constants.NGHTTP2_CANCEL);
          return Array.from({ length: 50 }, () => ask(session, next));
        };
        const holds = (count: number) => async () => (await isHeldAt(other, count)) && (await isHeldAt(one, 1));
        const held = await holdRequests(live, askNext, holds(51));
        leave();
        return (await held.until(holds(50), 'the viewer to have left')) && held;
      },
      { what: 'viewers who wait for longer than one who leaves' },
    );
    live.sendMore();
    const answers = await waiting.answers;
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(answers.map(({ body }) => body.toString())).size, 1);
  });

  test('that do not trust the certificate log it, and answer viewers 503', async () => {
    await using live = await broadcast(one, one);
    const refused = await waitFor(
      async () => {
        const answer = await get(live.playlistUrl.replace(one.url, lost.url));
        return answer.status === 503 && answer;
      },
      { what: 'the refusal' },
    );
    assert.match(refused.body.toString(), /node_unreachable/);
    const isLogged = () => lost.logLines.some((line) => /node_unreachable.*certificate/.test(line));
    await waitFor(isLogged, { what: 'the line in the log' });
  });
});

describe('an address that leads elsewhere', () => {
  for (const [where, owner, expected] of [
    ['to the node that asks', () => misled, 404],
    ['to nobody', () => lost, 503],
  ] as const) {
    test(`${where} costs its viewers an answer, and no node more than that`, async () => {
      await using live = await broadcast(owner(), owner());
      const answers = () =>
        Promise.all(Array.from({ length: 20 }, () => get(live.playlistUrl.replace(owner().url, one.url))));
      await waitFor(async () => (await answers()).every(({ status }) => status === expected), { what: 'a refusal' });
      assert.equal((await get(live.playlistUrl)).status, 200);
      await waitFor(() => isHeldAt(one, 0), { what: 'no held request' });
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

/** Whether a server holds a number of requests. */
async function isHeldAt({ metricsUrl }: ServerProcess, count: number): Promise<boolean> {
  return new RegExp(`^millrace_held_requests_count ${count}$`, 'm').test((await get(metricsUrl)).body.toString());
}

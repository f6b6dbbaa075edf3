/**
 * Who may watch, from the API to a real player: with tokens, behind a cache, in a browser, and at another node.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { ApiClient, CreatedStream } from '../support/api-client.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type LoopedPublisher, publishLoop } from '../support/looped-publisher.ts';
import { signToken } from '../support/playback-rights.ts';
import { startPostgres } from '../support/postgres.ts';
import { CHEAP, type ServerProcess, startServerProcess, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { assertLoaded, assertMedia } from './judge.ts';
import { type DeployedProxy, NEEDS_NGINX, startDeployedNginx } from './nginx.ts';
import { type Answer, get, mediaPlaylistUris, startWatching } from './viewer.ts';

/** Far longer than anything that the tests wait for takes. */
const TIME_LIMIT_MS = 120_000;
/** The number of playlists, each with a new part, after which a viewer has seen enough. */
const PARTS = 12;

/** A stream with the policy `jwt`, being published to, and what its owner has. */
interface Restricted extends AsyncDisposable {
  readonly stream: CreatedStream;
  readonly publisher: LoopedPublisher;
  readonly keyId: string;
  /** A token of its owner. */
  sign(claims?: Readonly<Record<string, unknown>>): Promise<string>;
}

async function publishRestricted(server: TestServer, policy: object = { type: 'jwt' }): Promise<Restricted> {
  const stream = await server.api.createStream({ playbackPolicy: policy });
  const key = (await (await server.api.request('POST', '/access-control/signing-key', {})).json()) as Record<
    string,
    string
  >;
  const publisher = await publishLoop(server.rtmpPort, stream.streamKey);
  const sign = (claims = {}) => signToken(key.privateKey!, key.publicKey!, { sub: stream.playbackId, ...claims });
  const url = `${server.playlistUrl(stream.playbackId)}?jwt=${await sign()}`;
  await waitFor(async () => (await get(url)).status === 200 && (await listed(await firstPlaylist(url))).length > 0, {
    what: 'a segment',
  });
  return { stream, publisher, keyId: key.id!, sign, [Symbol.asyncDispose]: () => publisher[Symbol.asyncDispose]() };
}

/** The first media playlist that a multivariant one names. */
async function firstPlaylist(indexUrl: string): Promise<string> {
  const { body } = await get(indexUrl);
  return new URL(mediaPlaylistUris(body.toString())[0]!, indexUrl).href;
}

/** The URLs of the whole segments in a media playlist. */
async function listed(playlistUrl: string): Promise<readonly string[]> {
  const { body } = await get(playlistUrl);
  return readMediaPlaylist(body.toString()).segments.flatMap(({ uri }) =>
    uri === undefined ? [] : new URL(uri, playlistUrl).href,
  );
}

const disable = (api: ApiClient, keyId: string, disabled = true) =>
  api.request('PATCH', `/access-control/signing-key/${keyId}`, { disabled });

const statusIs = (url: string, status: number) =>
  waitFor(async () => (await get(url)).status === status, { what: `${status} of ${url}` });

const parts = new AsyncDisposableStack();
/** The server of all tests except for those that need several, or another configuration. */
let server: ServerProcess;
let browser: Promise<TestBrowser> | undefined;
const chromium = () => {
  browser ??= launchChromium().then((launched) => parts.use(launched));
  return browser;
};
before(async () => {
  server = parts.use(
    await startServerProcess({
      settings: {
        ...CHEAP,
        MILLRACE_TRUSTED_PROXIES: 'loopback',
        MILLRACE_LOG_LEVEL: 'debug',
        MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1',
      },
    }),
  );
});
after(() => parts.disposeAsync());

describe('behind nginx as deploy/nginx.conf sets it up, a restricted stream', NEEDS_NGINX, () => {
  let proxy: DeployedProxy;
  let live: Restricted;
  let indexUrl: string;

  before(async () => {
    const certificate = makeCertificate();
    setDefaultCACertificates([...getCACertificates(), certificate.cert]);
    const folder = parts.use(await temporaryFolder());
    const { MILLRACE_TLS_CERT: certFile, MILLRACE_TLS_KEY: keyFile } = await writeCertificate(folder.path, certificate);
    proxy = parts.use(await startDeployedNginx([`127.0.0.1:${server.httpPort}`], { certFile, keyFile }));
    live = parts.use(await publishRestricted(server));
    indexUrl = `${proxy.url}/hls/${live.stream.playbackId}/index.m3u8`;
  });

  test('is played with a token, part by part', async () => {
    await using short = await publishRestricted(server);
    const url = `${proxy.url}/hls/${short.stream.playbackId}/index.m3u8?jwt=${await short.sign()}`;
    const viewer = startWatching(url, { signal: AbortSignal.timeout(TIME_LIMIT_MS) });
    const hasPlayed = () => viewer.hasAll && [...viewer.reloads.values()].every((count) => count >= PARTS);
    await waitFor(hasPlayed, { what: `${PARTS} parts` });
    await short.publisher.stop();
    const watched = await viewer.watched;
    assert.ok(watched.renditions.size >= 2);
    assertLoaded(watched);
    for (const viewing of watched.renditions.values()) assertMedia(viewing);
  });

  test('has its segments kept once for all viewers, and its playlists for none', async () => {
    const [one, other] = [await live.sign({ custom: 1 }), await live.sign({ custom: 2 })];
    const playlists = [
      await firstPlaylist(`${indexUrl}?jwt=${one}`),
      await firstPlaylist(`${indexUrl}?jwt=${other}`),
    ] as const;
    assert.notEqual(playlists[0], playlists[1]);
    const restricted = (answer: Answer, what: string) => {
      assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'private, no-store'], what);
      assert.notEqual(answer.headers.get('x-cache'), 'HIT', what);
    };
    for (const url of [...playlists, ...playlists, `${indexUrl}?jwt=${one}`, `${indexUrl}?jwt=${one}`])
      restricted(await get(url), url);
    const plain = playlists[0].replace(/\/v\/[^/]+/, '');
    const headers = { 'livepeer-jwt': one };
    for (const url of [indexUrl, plain, indexUrl, plain]) restricted(await get(url, { headers }), url);
    // What one viewer was just given, nobody gets without a right, nor with that of another stream.
    const wrong = await live.sign({ sub: 'another' });
    for (const url of [indexUrl, plain, `${indexUrl}?jwt=${wrong}`, `${plain}?jwt=${wrong}`]) {
      const { status, headers: answered } = await get(url);
      assert.deepEqual([status, answered.get('cache-control')], [401, 'no-store'], url);
    }
    const segments = await Promise.all(playlists.map(listed));
    const both = segments[0]!.filter((url) => segments[1]!.includes(url));
    assert.ok(both.length > 0, 'both playlists name the same segments');
    await get(both[0]!);
    for (const url of [both[0]!, `${both[0]!}?a=1`]) assert.equal((await get(url)).headers.get('x-cache'), 'HIT', url);
  });

  test('leaves no token, access key or ticket in any log', async () => {
    const token = await live.sign();
    const playlist = await firstPlaylist(`${indexUrl}?jwt=${token}`);
    const [, ticket] = /\/v\/([^/]+)\//.exec(playlist)!;
    await get(playlist);
    for (const url of [
      `${indexUrl}?accessKey=hidden-key`,
      `${playlist.replace(/source|audio/, 'none')}`,
      `${playlist}?jwt=${token}`,
      `${proxy.url}/v1/stream/key/hidden-key`,
    ])
      await get(url);
    for (const path of [`hls/${live.stream.playbackId}/index.m3u8?jwt=${token}`, 'api/stream/key/hidden-key']) {
      const { status, headers: answered } = await fetch(`${proxy.plainUrl}/${path}`, { redirect: 'manual' });
      assert.deepEqual([status, answered.get('location')], [301, `https://127.0.0.1/${path}`]);
    }
    await waitFor(async () => (await proxy.accessLog()).includes('/v/.../'), { what: 'the line of the playlist' });
    const logs = (await proxy.accessLog()) + server.logLines.join('\n');
    for (const secret of [token, ticket!, 'hidden-key', token.split('.')[2]!])
      assert.ok(!logs.includes(secret), secret);
  });

  test('leaves port 80 to certbot, whose files nginx serves', async () => {
    const path = '.well-known/acme-challenge';
    await mkdir(join(proxy.folder, 'html', path), { recursive: true });
    await writeFile(join(proxy.folder, 'html', path, 'token'), 'proof');
    assert.equal(await (await fetch(`${proxy.plainUrl}/${path}/token`)).text(), 'proof');
  });

  test('stops for present viewers when its key is disabled, and continues when it is enabled', async () => {
    const playlist = await firstPlaylist(`${indexUrl}?jwt=${await live.sign()}`);
    assert.equal((await get(playlist)).status, 200);
    await disable(server.api, live.keyId);
    await statusIs(playlist, 401);
    await disable(server.api, live.keyId, false);
    await statusIs(playlist, 200);
  });

  test('that becomes public, and restricted again, has other addresses each time', async () => {
    const change = (playbackPolicy: object | null) =>
      server.api.request('PATCH', `/stream/${live.stream.id}`, { playbackPolicy });
    const token = await live.sign();
    const before = (await listed(await firstPlaylist(`${indexUrl}?jwt=${token}`))).at(-1)!;
    await change(null);
    await statusIs(`${server.playlistUrl(live.stream.playbackId)}`, 200);
    const open = (await listed(await firstPlaylist(indexUrl))).at(-1)!;
    assert.equal((await get(before.replace(proxy.url, server.url))).status, 404);
    await change({ type: 'jwt' });
    await statusIs(server.playlistUrl(live.stream.playbackId), 401);
    assert.equal((await get(open.replace(proxy.url, server.url))).status, 404);
    // The cache may show the public playlist for as long as it was allowed to: half a target duration.
    await statusIs(indexUrl, 401);
    await statusIs(`${indexUrl}?jwt=${token}`, 200);
  });

  test('is refused to a browser without a right, with a sentence, and played with one', NEEDS_CHROMIUM, async () => {
    await using watched = await (await chromium()).newPage({ ignoreHTTPSErrors: true });
    const { page } = watched;
    const referrers: string[] = [];
    const asked: string[] = [];
    page.on('request', (request) => {
      referrers.push(request.headers().referer ?? '');
      asked.push(request.url());
    });
    const pageUrl = `${proxy.url}/play/${live.stream.playbackId}`;
    await page.goto(pageUrl);
    await page.locator('#notice-title').getByText('This stream is not public').waitFor({ timeout: TIME_LIMIT_MS });
    const token = await live.sign();
    await page.goto(`${pageUrl}#jwt=${token}`);
    await page.locator('html[data-state="playing"]').waitFor({ state: 'attached', timeout: TIME_LIMIT_MS });
    assert.ok(
      asked.some((url) => url.includes('/v/') && url.includes('.m3u8')),
      'the playlists lie below a ticket',
    );
    assert.ok(
      !asked.some((url) => url.includes('/play/') && url.includes('jwt')),
      'the page is asked for without the token',
    );
    assert.deepEqual(new Set(referrers), new Set(['']));
    assert.deepEqual(watched.errors, []);

    await disable(server.api, live.keyId);
    await page.locator('#notice-title').getByText('This stream is not public').waitFor({ timeout: TIME_LIMIT_MS });
    await disable(server.api, live.keyId, false);
  });
});

test('a stream is refused and shown on another node as on its own, and a change takes effect on both', async () => {
  await using postgres = await startPostgres();
  const settings = { MILLRACE_DATABASE_URL: await postgres.newDatabase() };
  await using one = await startServerProcess({ settings });
  await using other = await startServerProcess({ settings, apiKey: one.apiKey });
  await using live = await publishRestricted(one);
  const { playbackId, id } = live.stream;
  const token = await live.sign();
  const playlists = [];
  for (const server of [one, other]) {
    const index = server.playlistUrl(playbackId);
    await statusIs(`${index}?jwt=${token}`, 200);
    for (const url of [
      index,
      index.replace('index.m3u8', 'thumbnail.jpg'),
      `${index}?jwt=${await live.sign({ sub: 'x' })}`,
    ]) {
      assert.equal((await get(url)).status, 401, url);
    }
    const playlist = await firstPlaylist(`${index}?jwt=${token}`);
    playlists.push(playlist);
    const [segment] = await listed(playlist);
    assert.equal((await get(segment!)).status, 200);
    const guessed = segment!.replace(/\/s\/[^/]+/, '');
    assert.equal((await get(guessed)).status, 404, 'another node is no way around');
  }
  // A ticket of one node is good at the other, and both know media by the same addresses.
  const [here, there] = playlists as [string, string];
  assert.equal((await get(here.replace(one.url, other.url))).status, 200);
  assert.equal((await get((await listed(there))[0]!.replace(other.url, one.url))).status, 200);

  await disable(other.api, live.keyId);
  for (const url of [here, there]) await statusIs(url, 401);
  await disable(one.api, live.keyId, false);
  for (const url of [here, there]) await statusIs(url, 200);
  await other.api.request('PATCH', `/stream/${id}`, {
    playbackPolicy: { type: 'jwt', allowedOrigins: ['https://example.com'] },
  });
  for (const url of [here, there]) {
    await waitFor(async () => (await get(url, { headers: { origin: 'https://evil.test' } })).status === 403, {
      what: '403',
    });
    assert.equal((await get(url, { headers: { origin: 'https://example.com' } })).status, 200);
  }
  await one.api.request('PATCH', `/stream/${id}`, { playbackPolicy: null });
  for (const server of [one, other]) await statusIs(server.playlistUrl(playbackId), 200);
});

test('the player page of a stream with allowed origins can be framed by these only', NEEDS_CHROMIUM, async () => {
  const pages = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<iframe id="embed" src="${decodeURIComponent(request.url!.slice(2))}"></iframe>`);
  }).listen(0, '127.0.0.1');
  using _pages = { [Symbol.dispose]: () => pages.close().closeAllConnections() };
  await once(pages, 'listening');
  const { port } = pages.address() as AddressInfo;
  await using live = await publishRestricted(server, { type: 'jwt', allowedOrigins: [`http://127.0.0.1:${port}`] });
  const embed = `${server.url}/play/${live.stream.playbackId}?embed#jwt=${await live.sign()}`;
  await using watched = await (await chromium()).newPage();
  const { page } = watched;
  await page.goto(`http://127.0.0.1:${port}/?${encodeURIComponent(embed)}`);
  await page
    .frameLocator('#embed')
    .locator('html[data-state="playing"]')
    .waitFor({ state: 'attached', timeout: TIME_LIMIT_MS });
  await page.goto(`http://localhost:${port}/?${encodeURIComponent(embed)}`);
  await waitFor(() => watched.errors.some((error) => error.includes('frame-ancestors')), { what: 'the refusal' });
  assert.equal(await page.frameLocator('#embed').locator('#video').count(), 0);
});

test("the owner's server admits viewers, delays only its own streams, and is asked through the guard", async () => {
  const asked: string[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      const { accessKey } = JSON.parse(body) as { accessKey: string };
      asked.push(accessKey);
      if (accessKey === 'slow') return; // never answered
      if (accessKey === 'elsewhere') response.setHeader('location', server.url);
      response.statusCode = { good: 204, elsewhere: 302, broken: 500 }[accessKey] ?? 403;
      response.end(accessKey === 'lying' ? '{"ret":200}' : '');
    });
  }).listen(0, '127.0.0.1');
  using _receiver = { [Symbol.dispose]: () => receiver.close().closeAllConnections() };
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/gate`;
  const hook = await server.api.request('POST', '/webhook', { name: 'gate', url, events: ['stream.started'] });
  const { id: webhookId } = (await hook.json()) as { id: string };
  await using live = await publishRestricted(server);
  const playbackPolicy = { type: 'webhook', webhookId, refreshInterval: 1 };
  await server.api.request('PATCH', `/stream/${live.stream.id}`, { playbackPolicy });
  const index = server.playlistUrl(live.stream.playbackId);
  const askAs = (accessKey: string) => get(`${index}?accessKey=${accessKey}`);
  await statusIs(`${index}?accessKey=good`, 200);

  const count = (accessKey: string) => asked.filter((each) => each === accessKey).length;
  // The server waits 3 s for the receiver, which is this process. When this process is held up for as long, everybody gets 503 once.
  let slow: Promise<Answer>;
  const playlistMeanwhile = async () => {
    const before = count('slow');
    let isAnswered = false;
    slow = askAs('slow').finally(() => {
      isAnswered = true;
    });
    await waitFor(() => isAnswered || count('slow') > before, { what: 'the slow question' });
    const { status, body } = await get(`${index}?accessKey=good`);
    if (status !== 200) return undefined;
    const playlist = new URL(mediaPlaylistUris(body.toString())[0]!, index).href;
    return (await get(playlist)).status === 200 && !isAnswered && playlist;
  };
  const playlist = await waitFor(playlistMeanwhile, { what: 'others to be let in meanwhile' });
  const verdictOn = async (accessKey: string) => {
    const isDecided = async () => {
      const { status } = await askAs(accessKey);
      return status !== 503 && status;
    };
    return await waitFor(isDecided, { what: `the verdict on ${accessKey}` });
  };
  for (const [accessKey, status] of [
    ['wrong', 401],
    ['lying', 401],
    ['elsewhere', 401],
  ] as const) {
    assert.equal(await verdictOn(accessKey), status, accessKey);
  }
  assert.equal((await askAs('broken')).status, 503);
  assert.deepEqual([(await slow!).status, (await get(index)).status], [503, 401]);
  const before = count('good');
  await waitFor(async () => (await get(playlist)).status === 200 && count('good') > before + 1, {
    what: 'to be asked again, in time',
  });

  receiver.close().closeAllConnections();
  await statusIs(playlist, 503);
});

describe('after a restart', () => {
  let receiver: Server;
  let wasAsked = false;
  let refused: Restricted;
  let policy: object;
  let next: ServerProcess;
  before(async () => {
    receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    receiver.on('connection', () => {
      wasAsked = true;
    });
    parts.defer(() => receiver.close().closeAllConnections());
    await once(receiver, 'listening');
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/gate`;
    const hook = await server.api.request('POST', '/webhook', { name: 'gate', url, events: ['stream.started'] });
    policy = { type: 'webhook', webhookId: ((await hook.json()) as { id: string }).id };
    refused = parts.use(await publishRestricted(server));
    assert.equal((await get(server.playlistUrl(refused.stream.playbackId))).status, 401);
    assert.equal(await server.stop(), 0);
    wasAsked = false; // until here it may have got events
    const { dataDir, apiKey } = server;
    next = parts.use(await startServerProcess({ dataDir, apiKey, settings: CHEAP }));
  });

  test('there is an event that counts refusals, written at the latest when the server stops', async () => {
    const path = `/event?type=access_control.refused&streamId=${refused.stream.id}`;
    const [event] = (await (await next.api.request('GET', path)).json()) as {
      payload: { count: number; reasons: object };
    }[];
    assert.ok(event!.payload.count > 0);
    assert.ok('no_credentials' in event!.payload.reasons, JSON.stringify(event!.payload));
  });

  test('no gate call goes to an address that only this machine can reach, unless the operator allows it', async () => {
    await using live = await publishRestricted(next);
    await next.api.request('PATCH', `/stream/${live.stream.id}`, { playbackPolicy: policy });
    await statusIs(`${next.playlistUrl(live.stream.playbackId)}?accessKey=good`, 503);
    assert.equal(wasAsked, false);
  });
});

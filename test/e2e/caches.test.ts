/**
 * A stock cache in front of a server: it may keep every answer for as long as the server says, and its viewers are as close to live.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ApiClient, type CreatedStream } from '../support/api-client.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type LoopedPublisher, publishLoop } from '../support/looped-publisher.ts';
import { type Publisher, startPublisher } from '../support/publisher.ts';
import { CHEAP, type ServerProcess, startServerProcess } from '../support/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { assertLoaded, assertMedia, assertRules } from './judge.ts';
import { type CachingProxy, NEEDS_NGINX, startDeployedNginx, startNginx } from './nginx.ts';
import { firstFrameSince, readFrames, seen, untilSmooth } from './seen-frames.ts';
import {
  everyRenditionHasSegment,
  get,
  mediaPlaylistUris,
  nextDirectives,
  startWatching,
  type Watching,
} from './viewer.ts';

const TARGET_DURATION_S = 4;
/** Far longer than anything that the tests wait for takes. */
const TIME_LIMIT_MS = 400_000;
/** The number of playlists, each with a new part, after which a viewer has seen enough. */
const PARTS = 16;

const parts = new AsyncDisposableStack();
/** One server for all tests that need nginx. */
let server: ServerProcess;
before(async () => {
  if (NEEDS_NGINX.skip) return;
  server = parts.use(await startServerProcess({ settings: { ...CHEAP, MILLRACE_TRUSTED_PROXIES: 'loopback' } }));
});
after(() => parts.disposeAsync());

// The tests follow one another, and in the last one the publisher stops.
describe('behind nginx as a cache', NEEDS_NGINX, () => {
  let proxy: CachingProxy;
  let stream: CreatedStream;
  let publisher: Publisher;
  let indexUrl: string;
  let viewer: Watching;

  before(async () => {
    proxy = parts.use(await startNginx(`127.0.0.1:${server.httpPort}`));
    stream = await server.api.createStream();
    const video = { width: 320, height: 180, bitrateBps: 400_000 };
    publisher = parts.use(await startPublisher({ url: server.rtmpUrl(stream.streamKey), video }));
    indexUrl = `${proxy.url}/hls/${stream.playbackId}/index.m3u8`;
    await waitFor(() => everyRenditionHasSegment(server.playlistUrl(stream.playbackId)), { what: 'a segment' });
    viewer = startWatching(indexUrl, { signal: AbortSignal.timeout(TIME_LIMIT_MS) });
  });

  test('the same blocking request of many viewers reaches the server once, and none of them gets an old playlist', async () => {
    const playlistUrl = await videoPlaylist(indexUrl);
    const now = readMediaPlaylist((await get(playlistUrl.replace(proxy.url, server.url))).body.toString());
    const next = nextDirectives(now);
    // No other test here asks for this URL, because players also name a part.
    const url = `${playlistUrl}?${next.replace(/&.*/, '')}`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => get(url)));
    const sources = answers.map(({ headers }) => headers.get('x-cache'));
    assert.equal(sources.filter((source) => source === 'MISS').length, 1, sources.join());
    assert.equal(sources.filter((source) => source === 'HIT').length, 9, sources.join());
    for (const { status, body } of answers) {
      assert.equal(status, 200);
      assert.notEqual(nextDirectives(readMediaPlaylist(body.toString())), next, 'what was asked for is in it');
    }
    const late = await get(url);
    assert.equal(late.headers.get('x-cache'), 'HIT');
  });

  test('answers to requests with an API key are kept by no cache', async () => {
    const api = new ApiClient(`${proxy.url}/api`, server.apiKey);
    for (const path of [`/stream/${stream.id}`, '/stream', '/ingest', `/playback/${stream.playbackId}`]) {
      for (const _ of [1, 2]) {
        const { status, headers } = await api.request('GET', path);
        assert.equal(status, 200, path);
        assert.equal(headers.get('x-cache'), 'MISS', path);
        assert.match(headers.get('cache-control') ?? '', /no-store/, path);
      }
    }
  });

  test('absolute URLs have the address that clients use, from the proxy or PUBLIC_URL', async () => {
    const playback = async (base: string, headers: Record<string, string> = {}) =>
      JSON.parse((await get(`${base}/api/playback/${stream.playbackId}`, { headers })).body.toString());
    const [source] = (await playback(proxy.url)).meta.source;
    assert.equal(source.url, indexUrl);
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'live.example.com' };
    const [trusted] = (await playback(server.url, forwarded)).meta.source;
    assert.equal(trusted.url, `https://live.example.com/hls/${stream.playbackId}/index.m3u8`);

    await using fixed = await startServerProcess({ settings: { MILLRACE_PUBLIC_URL: 'https://tv.example.com' } });
    const other = await fixed.api.createStream();
    const answer = await get(`${fixed.url}/api/playback/${other.playbackId}`, { headers: forwarded });
    const [named] = JSON.parse(answer.body.toString()).meta.source;
    assert.equal(named.url, `https://tv.example.com/hls/${other.playbackId}/index.m3u8`);
  });

  test('the player page plays through the cache, close to live', NEEDS_CHROMIUM, async () => {
    await using browser = await launchChromium();
    await using watched = await browser.newPage();
    const { page } = watched;
    await page.goto(`${proxy.url}/play/${stream.playbackId}`);
    await readFrames(page);
    const first = await firstFrameSince(page, publisher.startedAtMs, TIME_LIMIT_MS);
    await untilSmooth(page, { fromS: first.mediaS, forS: 4, framesPerSecond: 30 });
    const playlist = (await get(await videoPlaylist(indexUrl))).body.toString();
    const [, holdBackS] = /[:,]HOLD-BACK=([\d.]+)/.exec(playlist)!;
    const isClose = async () => {
      // A busy machine delays some frames, but not all.
      const behind = (await seen(page)).frames.slice(-30).map(({ atMs, drawnAtMs }) => atMs - drawnAtMs);
      return Math.min(...behind) < Number(holdBackS) * 1000;
    };
    await waitFor(isClose, { what: `a frame less than ${holdBackS} s behind` });
    assert.deepEqual(watched.errors, []);
  });

  test('a viewer gets every part, and playlists that keep every rule, to the end', async () => {
    const hasPlayed = () => viewer.hasAll && [...viewer.reloads.values()].every((count) => count >= PARTS);
    await waitFor(hasPlayed, { what: `${PARTS} parts` });
    await publisher.stop();
    const watched = await viewer.watched;
    assertLoaded(watched);
    // A playlist asked for without directives may be half a target duration old.
    assertRules(watched, { stepS: TARGET_DURATION_S / 2 + 0.5 });
    for (const viewing of watched.renditions.values()) assertMedia(viewing);
  });
});

describe('behind nginx as deploy/nginx.conf sets it up', NEEDS_NGINX, () => {
  let proxy: CachingProxy;
  let publisher: LoopedPublisher;
  let indexUrl: string;

  before(async () => {
    const certificate = makeCertificate();
    setDefaultCACertificates([...getCACertificates(), certificate.cert]); // for `fetch`, which takes no certificate of its own
    const folder = await mkdtemp(join(tmpdir(), 'millrace-caches-'));
    parts.defer(() => rm(folder, { recursive: true }));
    const { MILLRACE_TLS_CERT: certFile, MILLRACE_TLS_KEY: keyFile } = await writeCertificate(folder, certificate);
    proxy = parts.use(await startDeployedNginx([`127.0.0.1:${server.httpPort}`], { certFile, keyFile }));
    const stream = await server.api.createStream();
    publisher = parts.use(await publishLoop(server.rtmpPort, stream.streamKey));
    indexUrl = `${proxy.url}/hls/${stream.playbackId}/index.m3u8`;
    await waitFor(() => everyRenditionHasSegment(indexUrl), { what: 'a segment' });
  });

  test('the cache keeps one answer for each resource, whatever a viewer adds to its URL', async () => {
    const list = await videoPlaylist(indexUrl);
    const newest = async () => readMediaPlaylist((await get(list)).body.toString());
    const init = new URL((await newest()).segments[0]!.map!, list).href;
    const sameInit = async () => [init, `${init}?a=1`, `${init}?`, init.replace('init', '%69nit')] as const;
    const samePlaylist = async () => {
      const next = nextDirectives(await newest());
      const [msn, part] = next.split('&');
      return [`${list}?${next}`, `${list}?${part}&${msn}`, `${list}?a=1&${next}&_HLS_msn=7`] as const;
    };
    for (const urls of [sameInit, samePlaylist]) {
      const storedOnce = async () => {
        const [url, ...others] = await urls();
        const first = await get(url);
        // A playlist that is requested too late is answered without waiting, and no cache may store this answer.
        return first.headers.get('cache-control') !== 'no-store' && { url, others, first };
      };
      const { url, others, first } = await waitFor(storedOnce, { what: 'an answer that may be stored' });
      // All at once: a playlist is kept for a limited time.
      const odd = { headers: { 'accept-encoding': 'gzip, b;q=0.1' } };
      const answers = await Promise.all(others.flatMap((other) => [get(other), get(other, odd)]));
      assert.ok(
        [first, ...answers].every(({ status, body }) => status === 200 && body.equals(first.body)),
        url,
      );
      for (const { headers } of answers) assert.equal(headers.get('x-cache'), 'HIT', url);
    }
  });

  test('a player gets only status 200 while another viewer requests every future name, and with odd queries', async () => {
    const attack = attackOn(indexUrl);
    const viewer = startWatching(indexUrl, { signal: AbortSignal.timeout(TIME_LIMIT_MS) });
    const isEnough = () =>
      attack.refusals > 100 && viewer.hasAll && [...viewer.reloads.values()].every((count) => count >= PARTS);
    await waitFor(isEnough, { what: `${PARTS} parts, and a hundred refusals`, timeoutMs: TIME_LIMIT_MS });
    await publisher.stop();
    const watched = await viewer.watched;
    await attack.stop();
    assertLoaded(watched);
    for (const viewing of watched.renditions.values()) assertMedia(viewing);
    assert.deepEqual(attack.kept, [], 'refusals that came from the cache');
  });
});

test(
  'nginx as deploy/nginx.conf sets it up keeps nodes that answer 503 to some requests, and finds the node that has a file',
  NEEDS_NGINX,
  async () => {
    await using parts = new AsyncDisposableStack();
    const versions = ['former', 'new'] as const;
    /** A node that has the files of one version, and whose API answers 503. */
    const node = async (version: string) => {
      const server = createServer((asked, answer) => {
        const { url = '' } = asked;
        const isMissing = url.includes('/assets/') && !url.includes(`/assets/${version}/`);
        answer.statusCode = url.startsWith('/api/') ? 503 : isMissing ? 404 : 200;
        answer.end();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      parts.defer(() => void server.close());
      return `127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const certificate = makeCertificate();
    setDefaultCACertificates([...getCACertificates(), certificate.cert]);
    const folder = parts.use(await temporaryFolder());
    const { MILLRACE_TLS_CERT: certFile, MILLRACE_TLS_KEY: keyFile } = await writeCertificate(folder.path, certificate);
    const proxy = parts.use(await startDeployedNginx(await Promise.all(versions.map(node)), { certFile, keyFile }));
    for (let count = 0; count < 6; count++) assert.equal((await get(`${proxy.url}/api/stream`)).status, 503);
    assert.equal((await get(`${proxy.url}/hls/a/index.m3u8`)).status, 200);
    // Each page gets its files, whichever of the nodes has its version.
    for (const folder of ['/play/assets', '/dashboard/assets', '/assets']) {
      for (const version of versions) {
        for (let count = 0; count < 6; count++) {
          const { status } = await get(`${proxy.url}${folder}/${version}/page.js`);
          assert.equal(status, 200, `${folder} ${version}`);
        }
      }
      assert.equal((await get(`${proxy.url}${folder}/older/page.js`)).status, 404);
    }
  },
);

/** The attacker's address, as the proxy sees it. */
const ATTACKER = '127.0.9.1';

/** A viewer who asks for what does not exist. */
interface Attack {
  /** The number of requests that were refused. */
  readonly refusals: number;
  /** The refusals that a cache answered with. */
  readonly kept: readonly string[];
  stop(): Promise<void>;
}

/**
 * Sends a hundred requests a second, until it is stopped, for media and playlists that do not exist yet, by all the names they can have, and for
 * some that will never exist.
 */
function attackOn(indexUrl: string): Attack {
  const stopping = new AbortController();
  const { signal } = stopping;
  const agent = new Agent({ keepAlive: true, maxSockets: 200, localAddress: ATTACKER });
  let refusals = 0;
  const kept: string[] = [];
  const send = (url: string) => {
    const asked = request(url, { agent, signal }, (response) => {
      response.resume();
      if (response.statusCode === 200) return;
      refusals += 1;
      if (response.headers['x-cache'] === 'HIT') kept.push(`${response.statusCode} ${url}`);
    });
    asked.on('error', () => {});
    asked.end();
  };
  const sendAll = async () => {
    const index = (await get(indexUrl)).body.toString();
    const renditions = mediaPlaylistUris(index).map((uri) => new URL(uri, indexUrl).href);
    while (!signal.aborted) {
      for (const list of renditions) {
        const { segments } = readMediaPlaylist((await get(list)).body.toString());
        const { msn, parts } = segments.at(-1)!;
        for (const url of namesToCome(list, msn, parts.length)) {
          send(url);
          await sleep(10, undefined, { signal }).catch(() => {});
          if (signal.aborted) break;
        }
      }
    }
    agent.destroy();
  };
  const ended = sendAll();
  return {
    get refusals() {
      return refusals;
    },
    kept,
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
}

/**
 * The URLs that a player would request in the next seconds, and odd ones that no player requests.
 * @param parts the number of parts in the growing segment
 */
function namesToCome(list: string, msn: number, parts: number): readonly string[] {
  const folder = list.replace(/\.m3u8$/, '');
  const index = new URL('../index.m3u8', list).href;
  const near = [0, 1, 2, 3, 4].flatMap((ahead) => [
    `${folder}/${msn}.${parts + ahead}.m4s`,
    `${folder}/${msn + 1}.${ahead}.m4s`,
    `${list}?_HLS_msn=${msn}&_HLS_part=${parts + 8 + ahead}`,
    `${list}?_HLS_msn=${msn + 1 + ahead}&_HLS_part=${ahead}`,
    `${list}?_HLS_msn=${msn + 1 + ahead}&_HLS_part=0&_HLS_skip=YES`,
  ]);
  const odd = [
    `${folder}/init-${msn + 1}.mp4`,
    `${list}?_HLS_part=0&_HLS_msn=${msn + 3}`,
    `${list}?_HLS_msn=00${msn}`,
    `${list}?_HLS_msn=-1`,
    `${list}?_HLS_msn=${msn}&_HLS_msn=9`,
    `${list}?_HLS_msn=${9e15}&_HLS_skip=v2`,
    `${list.replace(/[^/]+$/, 'later.m3u8')}`,
    new URL('thumbnail.jpg', index).href,
    `${index}?_HLS_msn=1`,
  ];
  return [`${folder}/${msn}.m4s`, `${folder}/${msn + 1}.m4s`, ...near, `${folder}/${msn + 2}.m4s`, ...odd];
}

async function videoPlaylist(indexUrl: string): Promise<string> {
  const index = await get(indexUrl);
  return new URL(mediaPlaylistUris(index.body.toString()).find((uri) => uri.endsWith('source.m3u8'))!, indexUrl).href;
}

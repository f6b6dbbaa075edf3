/**
 * A stock cache in front: it may keep everything for as long as we say, and its viewers are as close to live.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ApiClient, type CreatedStream } from '../support/api-client.ts';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type Publisher, startPublisher } from '../support/publisher.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { assertLoaded, assertMedia, assertRules } from './judge.ts';
import { type CachingProxy, NEEDS_NGINX, startNginx } from './nginx.ts';
import { assertContinuous, firstFrameSince, framesFrom, readFrames } from './seen-frames.ts';
import { everyRenditionHasSegment, get, mediaPlaylistUris, nextDirectives, watch } from './viewer.ts';

const TARGET_DURATION_S = 4;
const PUBLISHED_S = 16;

describe('behind nginx as a cache', { ...NEEDS_NGINX, concurrency: true }, () => {
  const parts = new AsyncDisposableStack();
  let server: ServerProcess;
  let proxy: CachingProxy;
  let stream: CreatedStream;
  let publisher: Publisher;
  let indexUrl: string;

  before(async () => {
    server = parts.use(await startServerProcess({ settings: { MILLRACE_TRUSTED_PROXIES: 'loopback' } }));
    proxy = parts.use(await startNginx(`127.0.0.1:${server.httpPort}`));
    stream = await server.api.createStream();
    const video = { width: 320, height: 180, bitrateBps: 400_000 };
    publisher = parts.use(
      await startPublisher({ url: server.rtmpUrl(stream.streamKey), durationS: PUBLISHED_S, video }),
    );
    indexUrl = `${proxy.url}/hls/${stream.playbackId}/index.m3u8`;
    await waitFor(() => everyRenditionHasSegment(server.playlistUrl(stream.playbackId)), { what: 'a segment' });
  });
  after(() => parts.disposeAsync());

  test('a viewer gets every part, and playlists that keep every rule, to the end', async () => {
    const watched = await watch(indexUrl, { signal: AbortSignal.timeout(30_000) });
    assert.equal((await publisher.ended).reason, 'finished');
    assertLoaded(watched);
    // A playlist asked for without directives may be half a target duration old.
    assertRules(watched, { stepS: TARGET_DURATION_S / 2 + 0.5 });
    for (const viewing of watched.renditions.values()) assertMedia(viewing);
  });

  test('the same blocking request of many reaches the server once, and none of them gets an old playlist', async () => {
    const playlistUrl = await videoPlaylist(indexUrl);
    const now = readMediaPlaylist((await get(playlistUrl.replace(proxy.url, server.url))).body.toString());
    const next = nextDirectives(now);
    // An address that no other test here asks for.
    const url = `${playlistUrl}?${next}&many=10`;
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

  test('answers to those with a key are kept by no cache', async () => {
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

  test('absolute URLs name the address that clients know, as the proxy or PUBLIC_URL says it', async () => {
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

  test('the player page plays through it, close to live', NEEDS_CHROMIUM, async () => {
    await using browser = await launchChromium();
    await using watched = await browser.newPage();
    const { page } = watched;
    await page.goto(`${proxy.url}/play/${stream.playbackId}`);
    await readFrames(page);
    const first = await firstFrameSince(page, publisher.startedAtMs, 10_000);
    const frames = await framesFrom(page, first.counter, 120);
    assertContinuous(frames, 30);
    const behind = frames.slice(-30).map(({ atMs, drawnAtMs }) => atMs - drawnAtMs);
    // nginx looks every 500 ms whether what others wait for is there.
    assert.ok(Math.max(...behind) < 4000, `${Math.max(...behind)} ms behind`);
    assert.deepEqual(watched.errors, []);
  });
});

async function videoPlaylist(indexUrl: string): Promise<string> {
  const index = await get(indexUrl);
  return new URL(mediaPlaylistUris(index.body.toString()).find((uri) => uri.endsWith('source.m3u8'))!, indexUrl).href;
}

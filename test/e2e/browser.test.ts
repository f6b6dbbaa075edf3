/**
 * What viewers see in a real Chromium, on the player page and with a bare hls.js, when encoders are lost or stop and a server is killed.
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { CreatedStream } from '../support/api-client.ts';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { type Publisher, startPublisher } from '../support/publisher.ts';
import { CHEAP, startServer, startServerProcess, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type BarePlayer, serveBarePlayer } from './bare-player.ts';
import { firstFrameSince, readFrames, type SeenFrame, untilSmooth } from './seen-frames.ts';
import { everyRenditionHasSegment, get, mediaPlaylistUris } from './viewer.ts';

const FPS = 15;
/** Small frames at a low rate, so that a slow machine can encode, decode and draw them in time. */
const VIDEO = { width: 320, height: 180, fps: { num: FPS, den: 1 }, gop: FPS, bitrateBps: 400_000 };
const STARTS_WITHIN_MS = 60_000;
/** Small, because drawing a page takes more CPU time than decoding its video. */
const WINDOW = { viewport: { width: 480, height: 270 } };
/** The reconnect window is so long that no encoder misses it. */
const SETTINGS = { ...CHEAP, MILLRACE_RECONNECT_WINDOW_S: '600' };
const SMOOTH_S = 6;
/** A player may correct its position in the stream once when it starts. */
const SETTLES_S = 1.5;
/**
 * The largest latency of a low-latency player. It is twice the three target durations by which players without parts lag, because each stall
 * on a busy machine adds to it.
 */
const MAX_LATENCY_MS = 12_000;
const AWAY_MS = 4000;

const parts = new AsyncDisposableStack();
let browser: TestBrowser;
let bare: BarePlayer;
let server: TestServer;

describe('in Chromium', { ...NEEDS_CHROMIUM, concurrency: 2 }, () => {
  before(async () => {
    browser = parts.use(await launchChromium());
    bare = parts.use(await serveBarePlayer());
    server = parts.use(await startServer({ settings: SETTINGS }));
  });
  after(() => parts.disposeAsync());

  test('the player page plays smoothly and close to live, survives a lost encoder, sees the end and the next start', async (t) => {
    const stream = await server.api.createStream();
    await using watched = await browser.newPage(WINDOW);
    const { page, errors } = watched;
    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await showsState(page, 'offline');

    await using first = await publish(server, stream);
    await readFrames(page);
    const start = await firstFrameSince(page, first.startedAtMs, STARTS_WITHIN_MS);
    await assertSmooth(page, start);
    const latency = async () => {
      const shownS = Number(await page.evaluate('document.documentElement.dataset.latency'));
      return shownS > 0 && shownS * 1000 < MAX_LATENCY_MS;
    };
    await waitFor(latency, { what: 'a latency that the page shows' });

    await first.kill();
    await sleep(AWAY_MS);
    await using second = await publish(server, stream);
    await assertReturns(t, page, second);
    await second.stop();

    await showsState(page, 'offline');
    await using third = await publish(server, stream);
    await firstFrameSince(page, third.startedAtMs, STARTS_WITHIN_MS);
    await showsState(page, 'playing');
    assert.deepEqual(errors, []);
    assert.deepEqual([...watched.hosts], [new URL(server.url).host]);
  });

  test('hls.js with default settings continues by itself when an encoder has come back', async (t) => {
    const stream = await server.api.createStream();
    await using first = await publish(server, stream);
    await using watched = await browser.newPage(WINDOW);
    await openBare(watched.page, server, stream);
    const start = await firstFrameSince(watched.page, first.startedAtMs, STARTS_WITHIN_MS);
    await assertSmooth(watched.page, start);
    await first.kill();
    await sleep(AWAY_MS);
    await using second = await publish(server, stream);
    await assertReturns(t, watched.page, second);
    assert.deepEqual(await watched.page.evaluate('fatal'), []);
    assert.deepEqual(watched.errors, []);
  });

  test('hls.js without low latency plays the same playlists smoothly', async () => {
    const stream = await server.api.createStream();
    await using first = await publish(server, stream);
    await using watched = await browser.newPage(WINDOW);
    await openBare(watched.page, server, stream, { lowLatencyMode: false });
    const start = await firstFrameSince(watched.page, first.startedAtMs, STARTS_WITHIN_MS);
    await assertSmooth(watched.page, start, { mostBehindMs: Number.POSITIVE_INFINITY });
    assert.deepEqual(await watched.page.evaluate('fatal'), []);
  });

  test('after the server was killed and started again, the encoder’s return continues the session and the page plays by itself', async () => {
    const killed = await startServerProcess({ settings: SETTINGS });
    const { dataDir, apiKey } = killed;
    parts.use(killed);
    const stream = await killed.api.createStream();
    await using first = await publish(killed, stream);
    await using watched = await browser.newPage(WINDOW);
    const { page } = watched;
    await page.goto(`${killed.url}/play/${stream.playbackId}`);
    await readFrames(page);
    await firstFrameSince(page, first.startedAtMs, STARTS_WITHIN_MS);
    const before = await sessionOf(killed, stream);
    await killed.kill();
    assert.equal((await first.ended).reason, 'connection_lost');

    const ports = { MILLRACE_HTTP_PORT: String(killed.httpPort), MILLRACE_RTMP_PORT: String(killed.rtmpPort) };
    const settings = { ...SETTINGS, ...ports };
    await using again = await startServerProcess({ settings, dataDir, apiKey });
    await using second = await publish(again, stream);
    const frame = await firstFrameSince(page, second.startedAtMs, STARTS_WITHIN_MS);
    await assertMoves(page, frame);
    const now = await sessionOf(again, stream);
    assert.equal(now.mediaPath, before.mediaPath);
    assert.ok(now.mediaSequence > before.mediaSequence + before.segments.length);
    assert.ok(now.discontinuitySequence > before.discontinuitySequence);
    assert.deepEqual(watched.errors, []);
  });
});

function publish(at: TestServer, { streamKey }: CreatedStream): Promise<Publisher> {
  return startPublisher({ url: at.rtmpUrl(streamKey), video: VIDEO });
}

async function openBare(page: Page, at: TestServer, stream: CreatedStream, config?: object): Promise<void> {
  const url = at.playlistUrl(stream.playbackId);
  // hls.js 1.7 gives up on a playlist that has parts but no segment yet.
  await waitFor(() => everyRenditionHasSegment(url), { what: 'a complete segment' });
  await page.goto(bare.pageUrl(url, config));
  await readFrames(page);
}

async function showsState(page: Page, state: string): Promise<void> {
  await page.waitForSelector(`html[data-state="${state}"]`, { state: 'attached', timeout: STARTS_WITHIN_MS });
}

/** Asserts that a player that has found its position plays smoothly for some seconds, decodes audio and video, and has at most the given latency. */
async function assertSmooth(page: Page, from: SeenFrame, { mostBehindMs = MAX_LATENCY_MS } = {}): Promise<void> {
  const decoded = (): Promise<{ audio: number; video: number }> =>
    page.evaluate(`(({ webkitAudioDecodedByteCount: audio, webkitVideoDecodedByteCount: video }) =>
      ({ audio, video }))(document.querySelector('video'))`);
  const before = await decoded();
  await untilSmooth(page, { fromS: from.mediaS + SETTLES_S, forS: SMOOTH_S, framesPerSecond: FPS, mostBehindMs });
  const now = await decoded();
  assert.ok(now.audio > before.audio && now.video > before.video, 'audio and video are decoded');
}

/** Waits until new frames are shown, one after another. How soon that happens depends on the machine, so it is printed and not asserted. */
async function assertReturns(t: TestContext, page: Page, { startedAtMs }: Publisher): Promise<void> {
  const frame = await firstFrameSince(page, startedAtMs, STARTS_WITHIN_MS);
  t.diagnostic(`the first new frame came ${frame.atMs - startedAtMs} ms after the encoder's return`);
  await assertMoves(page, frame);
}

async function assertMoves(page: Page, { counter, drawnAtMs }: SeenFrame): Promise<void> {
  const moves = () =>
    page.evaluate<boolean>(`(({ frames }) => frames.at(-1).counter >= ${counter + 2 * FPS} &&
      frames.filter((frame) => frame.drawnAtMs >= ${drawnAtMs}).length > ${FPS / 3})(seen)`);
  await waitFor(moves, { what: 'two more seconds of frames' });
}

async function sessionOf(at: TestServer, { playbackId }: CreatedStream) {
  const indexUrl = at.playlistUrl(playbackId);
  const uris = mediaPlaylistUris((await get(indexUrl)).body.toString());
  const uri = uris.find((each) => each.endsWith('source.m3u8'))!;
  const playlist = readMediaPlaylist((await get(new URL(uri, indexUrl).href)).body.toString());
  return { ...playlist, mediaPath: uri.split('/')[0] };
}

/**
 * What viewers get of recordings, with a real encoder: the player page that seeks back, stock players on the replay, MP4s, clips and thumbnails
 * in a real browser, and playlists that are only appended to.
 */
import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, suite, test } from 'node:test';
import type { CreatedStream } from '../support/api-client.ts';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import { recordedViolations } from '../support/event-playlist-rules.ts';
import { checkMultivariant } from '../support/hls-rules.ts';
import { signToken } from '../support/playback-rights.ts';
import { openPlayers } from '../support/players/all-players.ts';
import type { Player } from '../support/players/player.ts';
import { type Publisher, startPublisher } from '../support/publisher.ts';
import { CHEAP, type ServerProcess, startServerProcess } from '../support/server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { positionOf, untilPlaying, untilShown } from './player-page.ts';

const FPS = 15;
/** Little, so that a slow machine can encode, decode and draw it in time. */
const SMALL = { width: 320, height: 180, bitrateBps: 300_000, fps: { num: FPS, den: 1 }, gop: FPS };
const PROFILES = [{ name: 'low', width: 256, height: 144, bitrate: 100_000, fps: 0 }];

/** The content of `recording.json`. */
interface Info {
  readonly of: string;
  readonly folder: string;
  readonly running: boolean;
  readonly from: number | null;
  readonly duration: number;
}

suite('recordings, to viewers,', { ...NEEDS_CHROMIUM }, () => {
  const parts = new AsyncDisposableStack();
  let server: ServerProcess;
  let chromium: TestBrowser;
  before(async () => {
    server = parts.use(await startServerProcess({ settings: CHEAP }));
    chromium = parts.use(await launchChromium());
  });
  after(() => parts.disposeAsync());

  const infoUrl = (playbackId: string) => `${server.url}/hls/${playbackId}/recording.json`;
  /** Waits until the recording of a stream is a number of seconds long. */
  async function recorded(playbackId: string, seconds: number): Promise<{ info: Info; folder: string }> {
    let info: Info | undefined;
    const look = async () => {
      const answer = await fetch(infoUrl(playbackId));
      if (answer.status !== 200) return false;
      info = (await answer.json()) as Info;
      const playlist = await fetch(new URL(`${info.folder}source.m3u8`, infoUrl(playbackId)));
      if (!playlist.ok) return false;
      const lengths = (await playlist.text()).matchAll(/#EXTINF:([\d.]+)/g);
      return [...lengths].reduce((sum, [, length]) => sum + Number(length), 0) >= seconds;
    };
    await waitFor(look, { what: `${seconds} s of recording`, timeoutMs: 90_000 });
    return { info: info!, folder: new URL(info!.folder, infoUrl(playbackId)).href };
  }
  async function publish(options: object = {}): Promise<{ stream: CreatedStream; publisher: Publisher }> {
    const stream = await server.api.createStream({ record: true, profiles: PROFILES, ...options });
    return { stream, publisher: await startPublisher({ url: server.rtmpUrl(stream.streamKey), video: SMALL }) };
  }

  test('the player page seeks back in a live stream to its start, shows pictures of it, and comes back to live', async () => {
    const { stream, publisher } = await publish();
    await using _publisher = publisher;
    await recorded(stream.playbackId, 12);
    for (const options of [
      { viewport: { width: 1280, height: 800 } },
      { viewport: { width: 390, height: 844 }, hasTouch: true, colorScheme: 'light' as const },
    ]) {
      await using watched = await chromium.newPage(options);
      const { page, errors, failedRequests } = watched;
      await page.goto(`${server.url}/play/${stream.playbackId}`);
      await untilShown(page, 'state', 'playing');
      const seek = page.locator('#seek');
      await waitFor(async () => Number(await seek.getAttribute('max')) > 5, { what: 'a time line' });
      const box = (await seek.boundingBox())!;
      assert.ok(box.height >= 24 && box.x >= 0 && box.x + box.width <= options.viewport.width);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.locator('#preview-picture').waitFor({ state: 'visible' });
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/live-${options.viewport.width}.png` });
      await page.mouse.click(box.x + 2, box.y + box.height / 2);
      await untilShown(page, 'mode', 'replay');
      await untilShown(page, 'state', 'playing');
      await untilPlaying(page);
      assert.ok((await positionOf(page)) < 6, `it begins at ${await positionOf(page)} s`);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/replay-${options.viewport.width}.png` });
      // Keys seek as well, also while the time line has the focus. The video is paused, so that it does not get there by itself.
      await page.keyboard.press('k');
      await untilShown(page, 'state', 'paused');
      await seek.focus();
      const before = await positionOf(page);
      await page.keyboard.press('ArrowRight');
      await waitFor(async () => (await positionOf(page)) > before + 5, { what: 'a jump of the arrow key' });
      await page.getByText('Back to live').click();
      await untilShown(page, 'mode', 'live');
      await untilShown(page, 'state', 'playing');
      await untilPlaying(page);
      assert.deepEqual([errors, failedRequests], [[], []]);
    }
  });

  test('the page goes on with the recording when the stream has ended, and the recording has a page of its own', async () => {
    const { stream, publisher } = await publish();
    await using _publisher = publisher;
    await using watched = await chromium.newPage();
    const { page } = watched;
    await recorded(stream.playbackId, 4);
    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await untilShown(page, 'state', 'playing');
    await publisher.stop();
    await untilShown(page, 'state', 'offline');
    await page.getByText('Watch the recording').click();
    await untilShown(page, 'mode', 'replay');
    await untilShown(page, 'state', 'playing');
    await untilPlaying(page);
    const [asset] = (await (await server.api.request('GET', '/asset')).json()) as { id: string; playbackId: string }[];
    for (const id of [asset!.playbackId, asset!.id]) {
      await page.goto(`${server.url}/play/${id}`);
      await untilShown(page, 'mode', 'replay');
      await untilShown(page, 'state', 'playing');
      await untilPlaying(page);
      assert.equal(await page.locator('#live').isVisible(), false);
      assert.equal(await page.locator('#download').isVisible(), true);
    }
  });

  test('an address names the moment at which the page begins, in seconds or as a time', async () => {
    const { stream, publisher } = await publish();
    await using _publisher = publisher;
    const { info } = await recorded(stream.playbackId, 20);
    await using watched = await chromium.newPage();
    const { page, errors } = watched;
    const begins = async (id: string, query: string, atS: number) => {
      await page.goto(`${server.url}/play/${id}${query}`);
      await untilShown(page, 'mode', 'replay');
      await untilShown(page, 'state', 'playing');
      await untilPlaying(page);
      assert.ok((await positionOf(page)) >= atS - 0.5, `${query} begins at ${await positionOf(page)} s`);
    };
    await begins(stream.playbackId, '?t=6', 6);
    await page.getByText('Back to live').click();
    await untilShown(page, 'mode', 'live');
    await publisher.stop();
    const [session] = (await (await server.api.request('GET', `/stream/${stream.id}/sessions`)).json()) as {
      id: string;
    }[];
    await begins(session!.id, '?t=7.5', 7.5);
    await begins(session!.id, `?t=${Math.ceil(info.from! + 9000)}`, 9);
    await begins(session!.id, '?t=0', 0);
    await begins(session!.id, '?t=no', 0);
    assert.deepEqual(errors, []);
  });

  test('a browser plays the MP4 and a clip of a running recording, and seeks in them', async () => {
    const { stream, publisher } = await publish();
    await using _publisher = publisher;
    // The end of an MP4 may be a part or two before that of the playlist.
    const { folder } = await recorded(stream.playbackId, 9);
    await using watched = await chromium.newPage();
    const { page } = watched;
    for (const [file, lengthS] of [
      ['source.mp4?to=8', 8],
      ['low.mp4?from=2&to=6', 4],
      ['audio.m4a?from=1&to=3', 2],
    ] as const) {
      // The browser opens it as it opens any video.
      await page.goto(`${folder}${file}`);
      await page.locator('video').waitFor({ state: 'attached' });
      const answer = await page.evaluate(
        `(async () => {
          const video = document.querySelector('video');
          video.muted = true;
          await video.play();
          const { duration } = video;
          const sought = new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }));
          video.currentTime = duration / 2;
          await sought;
          return { duration, at: video.currentTime };
        })()`,
      );
      const { duration, at } = answer as { duration: number; at: number };
      // It ends with a whole frame, and on a busy machine the encoder skips frames, so that one may last a second.
      assert.ok(duration > lengthS - 0.1 && duration < lengthS + 2, `${file} lasts ${duration} s`);
      assert.ok(Math.abs(at - duration / 2) < 0.5);
    }
    const body = {
      playbackId: stream.playbackId,
      startTime: Date.now() - 6000,
      endTime: Date.now() - 4000,
      name: 'clip',
    };
    const made = await server.api.request('POST', '/clip', body);
    assert.equal(made.status, 200, await made.clone().text());
    const { asset } = (await made.json()) as { asset: { playbackId: string } };
    await page.goto(`${server.url}/play/${asset.playbackId}`);
    await untilShown(page, 'mode', 'replay');
    await untilPlaying(page);
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/clip.png` });
  });

  test('each version of a playlist is the beginning of the next one, and pictures are of the time that is asked for', async () => {
    const { stream, publisher } = await publish();
    await using _publisher = publisher;
    const { folder } = await recorded(stream.playbackId, 2);
    const versions = new Map<string, { readonly text: string; readonly delta: string }>();
    const look = async () => {
      const read = async (query = '') => (await fetch(`${folder}source.m3u8${query}`)).text();
      const text = await read();
      const delta = await read('?_HLS_skip=YES');
      // Otherwise the delta update may be that of the next version.
      if ((await read()) !== text) return false;
      versions.set(text, { text, delta });
      return versions.size >= 4;
    };
    await waitFor(look, { what: 'four versions of the playlist' });
    await publisher.stop();
    await waitFor(async () => (await look()) && [...versions.keys()].at(-1)!.includes('#EXT-X-ENDLIST'), {
      what: 'the end of the playlist',
    });
    const texts = [...versions.keys()];
    for (const [index, text] of texts.slice(1).entries()) assert.ok(text.startsWith(texts[index]!), text);
    const targetDurationS = Number(/TARGETDURATION:(\d+)/.exec(texts[0]!)![1]);
    assert.deepEqual(recordedViolations(new Map([['source', [...versions.values()]]]), targetDurationS), []);
    assert.deepEqual(checkMultivariant(await (await fetch(`${folder}index.m3u8`)).text()), []);
    const poster = await fetch(`${folder}poster.jpg?at=1`);
    assert.deepEqual([poster.status, poster.headers.get('content-type')], [200, 'image/jpeg']);
    const ofClip = await fetch(`${folder}poster.jpg?from=1&to=1.5`);
    assert.deepEqual([ofClip.status, ofClip.headers.get('content-type')], [200, 'image/jpeg'], 'between two posters');
    const drawn = async () => {
      const answer = await fetch(`${folder}storyboard.vtt`);
      return answer.status === 200 && (await answer.text());
    };
    const storyboard = await waitFor(drawn, { what: 'the first pictures' });
    assert.match(storyboard, /^WEBVTT\n\n00:00:00\.000 --> [\d:.]+\nsheet-0\.jpg#xywh=0,0,160,90\n/);
    assert.equal((await fetch(`${folder}sheet-0.jpg`)).status, 200);
    // When the files of pictures are lost, a poster is made of the media.
    const files = join(server.dataDir, 'recordings', new URL(folder).pathname.split('/').at(-2)!);
    for (const name of readdirSync(files)) if (name.startsWith('pictures.')) rmSync(join(files, name));
    const ofKeyframe = await fetch(`${folder}poster.jpg?at=1`);
    assert.deepEqual([ofKeyframe.status, ofKeyframe.headers.get('content-type')], [200, 'image/jpeg']);
  });

  test('a viewer with a right seeks back on the page of a restricted stream, and nobody else gets anything of its recording', async () => {
    const key = await (await server.api.request('POST', '/access-control/signing-key', { name: 'key' })).json();
    const { privateKey, publicKey } = key as { privateKey: string; publicKey: string };
    const { stream, publisher } = await publish({ playbackPolicy: { type: 'jwt' } });
    await using _publisher = publisher;
    const jwt = await signToken(privateKey, publicKey, { sub: stream.playbackId });
    let info: Info | undefined;
    const look = async () => {
      const answer = await fetch(`${infoUrl(stream.playbackId)}?jwt=${jwt}`);
      info = answer.status === 200 ? ((await answer.json()) as Info) : undefined;
      return (info?.duration ?? 0) >= 6;
    };
    await waitFor(look, { what: 'six seconds of recording', timeoutMs: 90_000 });
    const folder = new URL(info!.folder, infoUrl(stream.playbackId)).href;
    assert.equal((await fetch(infoUrl(stream.playbackId))).status, 401);
    for (const file of ['index.m3u8', 'source.m3u8', 'source.mp4', 'poster.jpg', 'storyboard.vtt', 'sheet-0.jpg']) {
      assert.equal((await fetch(`${folder}${file}`)).status, 401, file);
      assert.equal((await fetch(`${folder}${file}?jwt=${jwt}`)).status, 200, file);
    }
    assert.equal((await fetch(`${folder}source/0.m4s`)).status, 404);
    await using watched = await chromium.newPage();
    const { page, failedRequests } = watched;
    await page.goto(`${server.url}/play/${stream.playbackId}#jwt=${jwt}`);
    await untilShown(page, 'state', 'playing');
    await waitFor(async () => Number(await page.locator('#seek').getAttribute('max')) > 5, { what: 'a time line' });
    await page.keyboard.press('Home');
    await untilShown(page, 'mode', 'replay');
    await untilShown(page, 'state', 'playing');
    await untilPlaying(page);
    const box = (await page.locator('#seek').boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.locator('#preview-picture').waitFor({ state: 'visible' });
    await page.keyboard.press('l');
    await untilShown(page, 'mode', 'live');
    await untilPlaying(page);
    assert.deepEqual(failedRequests, []);
  });

  test('a session that is not transcoded has a poster all the same', async () => {
    const { stream, publisher } = await publish({ profiles: [] });
    await using _publisher = publisher;
    const { folder } = await recorded(stream.playbackId, 4);
    const poster = await fetch(`${folder}poster.jpg?at=3`);
    assert.deepEqual([poster.status, poster.headers.get('content-type')], [200, 'image/jpeg']);
    assert.equal((await fetch(`${folder}storyboard.vtt`)).status, 404);
  });
});

const needed = [NEEDS_CHROMIUM, needs('ffmpeg'), needs('gst-launch-1.0')];
describe('stock players', { skip: needed.map(({ skip }) => skip).find((skip) => skip !== false) ?? false }, () => {
  const LENGTH_S = 6;

  test('play a recording from its start to its end', async () => {
    await using server = await startServerProcess({ settings: CHEAP });
    await using players = await openPlayers();
    const stream = await server.api.createStream({ record: true });
    await using publisher = await startPublisher({
      url: server.rtmpUrl(stream.streamKey),
      video: SMALL,
      durationS: LENGTH_S,
    });
    await publisher.ended;
    const infoUrl = `${server.url}/hls/${stream.playbackId}/recording.json`;
    let info: Info | undefined;
    const hasEnded = async () => {
      const answer = await fetch(infoUrl);
      info = answer.status === 200 ? ((await answer.json()) as Info) : undefined;
      return info !== undefined && !info.running;
    };
    await waitFor(hasEnded, { what: 'the end of the recording', timeoutMs: 60_000 });
    const url = new URL(`${info!.folder}index.m3u8`, infoUrl).href;
    const playToItsEnd = async (player: Player) => {
      await using playing = await player.play(url);
      const look = async () => {
        const { fatal, ended } = await playing.report();
        assert.deepEqual(fatal, [], player.name);
        return ended;
      };
      await waitFor(look, { what: `the end in ${player.name}`, timeoutMs: 120_000 });
      const counters = new Set((await playing.report()).frames.map(({ counter }) => counter));
      assert.ok(counters.size >= (LENGTH_S - 1) * FPS * 0.8, `${player.name} showed ${counters.size} frames`);
      assert.ok(Math.min(...counters) <= FPS, `${player.name} began with frame ${Math.min(...counters)}`);
    };
    await Promise.all(players.all.map(playToItsEnd));
  });
});

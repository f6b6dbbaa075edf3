/**
 * What viewers get of recordings, with a real encoder: the player page that seeks back, stock players on the replay, MP4s, clips and thumbnails
 * in a real browser, and playlists that are only appended to.
 */
import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { CreatedStream } from '../support/api-client.ts';
import { changeTimers, launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import { recordedViolations } from '../support/event-playlist-rules.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { checkMultivariant } from '../support/hls-rules.ts';
import { type Loop, type LoopedPublisher, publishLoop, recordLoop, SMALL } from '../support/looped-publisher.ts';
import { signToken } from '../support/playback-rights.ts';
import { openPlayers } from '../support/players/all-players.ts';
import type { Player } from '../support/players/player.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { CHEAP, startServer, type TestServer } from '../support/server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { axeOn, PHONE } from './dashboard-browser.ts';
import { changeIndex, positionOf, RESTART_PAUSES, untilPlaying, untilPreviewed, untilShown } from './player-page.ts';

const FPS = SMALL.fps.num;
/** Small, because drawing a page takes more CPU time than decoding its video. */
const WINDOW = { viewport: { width: 640, height: 360 } };
/** Longer than any wait for media. */
const HOLD_MS = 60_000;
/** How much of a broadcast is sent at once in the beginning, so that its recording is soon long enough. Its renditions may lack that part. */
const AHEAD_MS = 9000;
/** Replaces the time after which the player page hides its controls with a shorter one. */
const IDLE = { 2500: 250 };
const PROFILES = [{ name: 'low', width: 256, height: 144, bitrate: 100_000, fps: 0 }];

/** The content of `recording.json`. */
interface Info {
  readonly of: string;
  readonly folder: string;
  readonly running: boolean;
  readonly from: number | null;
  readonly duration: number;
}

/** A recording as the API shows it. */
interface Asset {
  readonly id: string;
  readonly playbackId: string;
  readonly status: { readonly phase: string };
}

/**
 * Half a second after the beginning of the first segment at or after a position. Where a busy machine interrupted the stream, the
 * difference between positions and wall-clock times is larger afterwards.
 */
async function momentAfter(playlistUrl: string, leastS: number) {
  const { segments } = readMediaPlaylist(await (await fetch(playlistUrl)).text());
  let positionS = 0;
  let dateMs = 0;
  for (const { programDateTime, durationS } of segments) {
    if (programDateTime !== undefined) dateMs = Date.parse(programDateTime);
    if (positionS >= leastS) break;
    positionS += durationS;
    dateMs += durationS * 1000;
  }
  return { positionS: positionS + 0.5, dateMs: Math.round(dateMs + 500) };
}

/**
 * The position in a recording from which on one of its playlists has some seconds of media without a gap. Renditions begin later than the source
 * and have gaps where a busy machine does not transcode.
 * @param startMs the wall-clock time of the recording's first frame
 */
async function wholeFrom(playlistUrl: string, seconds: number, startMs: number): Promise<number | false> {
  const answer = await fetch(playlistUrl);
  if (!answer.ok) return false;
  const { segments } = readMediaPlaylist(await answer.text());
  let positionS = Math.max(0, Date.parse(segments[0]?.programDateTime ?? '') - startMs) / 1000;
  let fromS = positionS;
  for (const { gap, durationS } of segments) {
    positionS += durationS;
    if (gap) fromS = positionS;
    // The end of an MP4 may be a part or two before that of the playlist.
    if (positionS >= fromS + seconds + 1) return fromS;
  }
  return false;
}

suite('recordings, to viewers,', { ...NEEDS_CHROMIUM, concurrency: 2 }, () => {
  const parts = new AsyncDisposableStack();
  let server: TestServer;
  let chromium: TestBrowser;
  let loop: Loop;
  /** A broadcast for the last tests, which is long by then. */
  let shared: { readonly stream: CreatedStream };
  before(async () => {
    server = parts.use(await startServer({ settings: CHEAP, longestHoldMs: HOLD_MS }));
    chromium = parts.use(await launchChromium());
    loop = await recordLoop();
    const { stream, publisher } = await publish({}, 0);
    parts.use(publisher);
    shared = { stream };
  });
  after(() => parts.disposeAsync());

  const infoUrl = (playbackId: string) => `${server.url}/hls/${playbackId}/recording.json`;
  /** Waits until the recording of a stream is a number of seconds long in some renditions, which it need not be in all at the same time. */
  async function recorded(
    playbackId: string,
    seconds: number,
    renditions: readonly string[] = ['source'],
  ): Promise<{ info: Info; folder: string }> {
    let info: Info | undefined;
    const isLong = async (rendition: string) => {
      const playlist = await fetch(new URL(`${info!.folder}${rendition}.m3u8`, infoUrl(playbackId)));
      if (!playlist.ok) return false;
      const lengths = (await playlist.text()).matchAll(/#EXTINF:([\d.]+)/g);
      return [...lengths].reduce((sum, [, length]) => sum + Number(length), 0) >= seconds;
    };
    const look = async () => {
      const answer = await fetch(infoUrl(playbackId));
      if (answer.status !== 200) return false;
      info = (await answer.json()) as Info;
      return (await Promise.all(renditions.map(isLong))).every((isSo) => isSo);
    };
    await waitFor(look, { what: `${seconds} s of recording`, timeoutMs: 120_000 });
    return { info: info!, folder: new URL(info!.folder, infoUrl(playbackId)).href };
  }
  /** Waits until there are pictures of a recording, and returns their list. A transcoder makes them, which a busy machine delays. */
  const storyboardOf = (folder: string, query = '') =>
    waitFor(
      async () => {
        const answer = await fetch(`${folder}storyboard.vtt${query}`);
        return answer.status === 200 && (await answer.text());
      },
      { what: 'the first pictures' },
    );
  /** Waits until there is a picture, and returns the answer. A process makes it, and on a busy machine the first requests may get 503. */
  const picture = (url: string) =>
    waitFor(
      async () => {
        const answer = await fetch(url);
        return answer.status === 200 && answer;
      },
      { what: `the picture ${url}`, timeoutMs: 150_000 },
    );
  async function publish(
    options: object = {},
    aheadMs = AHEAD_MS,
  ): Promise<{ stream: CreatedStream; publisher: LoopedPublisher }> {
    const stream = await server.api.createStream({ record: true, profiles: PROFILES, ...options });
    return { stream, publisher: await publishLoop(server.rtmpPort, stream.streamKey, { loop, aheadMs }) };
  }

  test('an address names the moment at which the page begins, also right after the end, and the page goes on with the recording', async () => {
    // Its rendition begins later than the source.
    const { stream, publisher } = await publish();
    await using _publisher = publisher;
    // A page begins at least ten seconds before the end of a running recording.
    const { folder } = await recorded(stream.playbackId, 17);
    await using first = await chromium.newPage(WINDOW);
    // The video does not play, so that it stays where it begins.
    await first.page.addInitScript('HTMLMediaElement.prototype.play = async () => {};');
    const videoState = () =>
      first.page.evaluate<{ readyState: number; seeking: boolean; currentTime: number; buffered: number[][] }>(
        '(({ readyState, seeking, currentTime, buffered }) => ({ readyState, seeking, currentTime, buffered: Array.from(buffered, (_, index) => [buffered.start(index), buffered.end(index)]) }))(document.querySelector("video"))',
      );
    /** @param zeroS the position in the recording at which the video counts 0 */
    const begins = async (id: string, query: string, atS: number, zeroS = 0) => {
      await first.page.goto(`${server.url}/play/${id}${query}`);
      await untilShown(first.page, 'mode', 'replay');
      const isShown = async () => {
        const { readyState, seeking, currentTime } = await videoState();
        return readyState >= 2 && !seeking && currentTime;
      };
      const shownAtS = await waitFor(isShown, { what: 'a picture' }).catch(async (error) => {
        throw new Error(`no picture at ${query}: ${JSON.stringify(await videoState())}`, { cause: error });
      });
      assert.ok(Math.abs(shownAtS + zeroS - atS) < 0.5, `${query} begins at ${shownAtS} s`);
      const isAt = async () => Math.abs(Number(await first.page.locator('#seek').inputValue()) - atS) < 0.5;
      await waitFor(isAt, { what: 'the position on the time line' });
    };
    await begins(stream.playbackId, '?t=6', 6);
    await first.page.getByText('Back to live').click();
    await untilShown(first.page, 'mode', 'live');

    await using second = await chromium.newPage({ ...PHONE, colorScheme: 'light' });
    const { page } = second;
    await changeTimers(page, IDLE);
    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await untilShown(page, 'state', 'playing');
    const [session] = (await (await server.api.request('GET', `/stream/${stream.id}/sessions`)).json()) as {
      id: string;
    }[];
    // The last of the following pages begins 2.5 s after the beginning of this rendition.
    await recorded(stream.playbackId, 4, ['low']);
    await publisher.stop();
    await begins(session!.id, '?t=7.5', 7.5);
    // A page does not begin close to the end of a rendition that a busy machine has not written to its end yet.
    const asset = async () => (await (await server.api.request('GET', `/asset/${session!.id}`)).json()) as Asset;
    await waitFor(async () => (await asset()).status.phase === 'ready', { what: 'the recording to be ready' });
    const moment = await momentAfter(`${folder}source.m3u8`, 8);
    await begins(session!.id, `?t=${moment.dateMs}`, moment.positionS);
    await begins(session!.id, '?t=0', 0);
    await begins(session!.id, '?t=no', 0);
    // A replay also begins there when hls.js loads the rendition first, because only the rendition fits the connection. The video then counts
    // its position from the beginning of the rendition.
    const startOf = async (rendition: string) => {
      const { segments } = readMediaPlaylist(await (await fetch(`${folder}${rendition}.m3u8`)).text());
      return Date.parse(segments[0]!.programDateTime!) / 1000;
    };
    const laterS = (await startOf('low')) - (await startOf('source'));
    assert.ok(laterS > 1, `it begins ${laterS} s later`);
    await changeIndex(first.page, (text) => text.replace(/BANDWIDTH=\d+(?=.*\nsource)/g, 'BANDWIDTH=50000000'));
    // The page begins within a segment, because a video that does not play cannot leave even the smallest hole between two segments.
    await begins(session!.id, `?t=${laterS + 2.5}`, laterS + 2.5, laterS);
    assert.deepEqual(first.errors, []);

    await untilShown(page, 'state', 'offline');
    const replay = page.getByText('Watch the recording');
    await replay.waitFor();
    const { passes, violations } = await axeOn(page).include('#replay').withRules(['color-contrast']).analyze();
    assert.deepEqual([passes.length, violations], [1, []]);
    await replay.tap();
    await untilShown(page, 'mode', 'replay');
    await untilShown(page, 'state', 'playing');
    await untilPlaying(page);
    const { id, playbackId } = await asset();
    for (const each of [playbackId, id]) {
      await page.goto(`${server.url}/play/${each}`);
      await untilShown(page, 'mode', 'replay');
      await untilShown(page, 'state', 'playing');
      await untilPlaying(page);
      assert.equal(await page.locator('#live').isVisible(), false);
      assert.equal(await page.locator('#download').isVisible(), true);
    }
    // What the server says in place of a download is not for viewers, and must not replace the page.
    const button = page.getByRole('button', { name: 'Download as MP4' });
    // Timers of 15 s, such as the timer of the message, take 8 s from now on.
    await page.evaluate(
      '{ const start = setTimeout; setTimeout = (run, ms, ...more) => start(run, ms === 15_000 ? 8000 : ms, ...more); }',
    );
    const answered = Promise.withResolvers<void>();
    let asked = 0;
    await page.route('**/*.mp4*', async (route) => {
      asked += 1;
      await answered.promise;
      await route.fulfill({ status: 503, json: { errors: ['no'] } });
    });
    await button.press('Enter');
    await page.locator('.bar').getByText('The download is being prepared.').waitFor();
    await button.press('Enter');
    answered.resolve();
    const failed = page.locator('.bar').getByText('The recording cannot be downloaded right now.');
    await failed.waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    assert.equal(asked, 1);
    // The message is shown although nobody moves the pointer, and goes away after the time that reading it takes.
    await page.evaluate(`
      document.activeElement.blur();
      document.querySelector('video').currentTime = 0;
      document.querySelector('video').play();
    `);
    await page.locator('html[data-idle][data-state="playing"]').waitFor({ state: 'attached' });
    const isShown = `document.getElementById('download-status').textContent === '' ||
      getComputedStyle(document.getElementById('bar')).pointerEvents === 'auto'`;
    assert.equal(await page.evaluate(isShown), true);
    await failed.waitFor({ state: 'detached', timeout: 60_000 });
    for (const [status, says] of [
      [503, 'The recording cannot be downloaded right now.'],
      [401, 'Your link does not allow you to watch it, or has expired.'],
    ] as const) {
      await page.route('**/*.mp4*', (route) => route.fulfill({ status, json: { errors: ['no'] } }));
      await button.press('Enter');
      await page.locator('.bar').getByText(says).waitFor();
      await page.unrouteAll({ behavior: 'wait' });
    }
    const downloading = page.waitForEvent('download');
    await button.press('Enter');
    assert.match((await downloading).suggestedFilename(), /\.mp4$/);
    assert.equal(new URL(page.url()).pathname, `/play/${id}`);
  });

  test('each version of a playlist is the beginning of the next one, and pictures are of the time that is asked for', async () => {
    // No media is sent ahead, so that segments follow each other in real time.
    const { stream, publisher } = await publish({}, 0);
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
    const poster = await picture(`${folder}poster.jpg?at=1`);
    assert.equal(poster.headers.get('content-type'), 'image/jpeg');
    const ofClip = await picture(`${folder}poster.jpg?from=1&to=1.5`);
    assert.equal(ofClip.headers.get('content-type'), 'image/jpeg', 'between two posters');
    const storyboard = await storyboardOf(folder);
    assert.match(storyboard, /^WEBVTT\n\n00:00:00\.000 --> [\d:.]+\nsheet-0\.jpg#xywh=0,0,160,90\n/);
    assert.equal((await fetch(`${folder}sheet-0.jpg`)).status, 200);
    // When the files of pictures are lost, a poster is made of the media.
    const files = join(server.dataDir, 'recordings', new URL(folder).pathname.split('/').at(-2)!);
    for (const name of readdirSync(files)) if (name.startsWith('pictures.')) rmSync(join(files, name));
    const ofKeyframe = await picture(`${folder}poster.jpg?at=1`);
    assert.equal(ofKeyframe.headers.get('content-type'), 'image/jpeg');
  });

  test('a viewer with a right seeks back on the page of a restricted stream, and nobody else gets anything of its recording', async () => {
    const key = await (await server.api.request('POST', '/access-control/signing-key', { name: 'key' })).json();
    const { privateKey, publicKey } = key as { privateKey: string; publicKey: string };
    const { stream, publisher } = await publish({ playbackPolicy: { type: 'jwt' } });
    await using _publisher = publisher;
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const jwt = await signToken(privateKey, publicKey, { sub: stream.playbackId, exp });
    let info: Info | undefined;
    const look = async () => {
      const answer = await fetch(`${infoUrl(stream.playbackId)}?jwt=${jwt}`);
      info = answer.status === 200 ? ((await answer.json()) as Info) : undefined;
      return (info?.duration ?? 0) >= 6;
    };
    await waitFor(look, { what: 'six seconds of recording', timeoutMs: 120_000 });
    const folder = new URL(info!.folder, infoUrl(stream.playbackId)).href;
    await storyboardOf(folder, `?jwt=${jwt}`);
    assert.equal((await fetch(infoUrl(stream.playbackId))).status, 401);
    for (const file of ['index.m3u8', 'source.m3u8', 'source.mp4', 'poster.jpg', 'storyboard.vtt', 'sheet-0.jpg']) {
      assert.equal((await fetch(`${folder}${file}`)).status, 401, file);
      assert.equal((await fetch(`${folder}${file}?jwt=${jwt}`)).status, 200, file);
    }
    assert.equal((await fetch(`${folder}source/0.m4s`)).status, 404);
    await using watched = await chromium.newPage(WINDOW);
    const { page, failedRequests } = watched;
    await page.goto(`${server.url}/play/${stream.playbackId}#jwt=${jwt}`);
    await untilShown(page, 'state', 'playing');
    await waitFor(async () => Number(await page.locator('#seek').getAttribute('max')) > 5, { what: 'a time line' });
    await page.keyboard.press('Home');
    await untilShown(page, 'mode', 'replay');
    await untilShown(page, 'state', 'playing');
    await untilPlaying(page);
    await untilPreviewed(page);
    await page.locator('#player').press('l');
    await untilShown(page, 'mode', 'live');
    await untilPlaying(page);
    assert.deepEqual(failedRequests, []);
  });

  test('a session that is not transcoded has a poster all the same', async () => {
    const { stream, publisher } = await publish({ profiles: [] });
    await using _publisher = publisher;
    const { folder } = await recorded(stream.playbackId, 4);
    const poster = await picture(`${folder}poster.jpg?at=3`);
    assert.equal(poster.headers.get('content-type'), 'image/jpeg');
    assert.equal((await fetch(`${folder}storyboard.vtt`)).status, 404);
  });

  const needed = [needs('ffmpeg'), needs('gst-launch-1.0')];
  const skip = needed.map((each) => each.skip).find((each) => each !== false) ?? false;
  test('stock players play a recording from its start to its end', { skip }, async () => {
    const lengthS = 6;
    await using players = await openPlayers({ chromium });
    const stream = await server.api.createStream({ record: true, profiles: [] });
    {
      await using client = await RtmpClient.publish(server.rtmpPort, stream.streamKey);
      client.tags(await recordMedia({ video: SMALL, durationS: lengthS }));
      client.unpublish(stream.streamKey);
      await client.heard();
    }
    let info: Info | undefined;
    const hasEnded = async () => {
      const answer = await fetch(infoUrl(stream.playbackId));
      info = answer.status === 200 ? ((await answer.json()) as Info) : undefined;
      return info !== undefined && !info.running;
    };
    await waitFor(hasEnded, { what: 'the end of the recording' });
    const url = new URL(`${info!.folder}index.m3u8`, infoUrl(stream.playbackId)).href;
    const playToItsEnd = async (player: Player) => {
      await using playing = await player.play(url);
      const look = async () => {
        const { fatal, ended } = await playing.report();
        assert.deepEqual(fatal, [], player.name);
        return ended;
      };
      await waitFor(look, { what: `the end in ${player.name}`, timeoutMs: 120_000 });
      // A player on a busy machine leaves out frames.
      const counters = new Set((await playing.report()).frames.map(({ counter }) => counter));
      assert.ok(counters.size >= (lengthS * FPS) / 3, `${player.name} showed ${counters.size} frames`);
      assert.ok(Math.min(...counters) <= 2 * FPS, `${player.name} began with frame ${Math.min(...counters)}`);
      assert.ok(Math.max(...counters) >= (lengthS - 2) * FPS, `${player.name} ended with ${Math.max(...counters)}`);
    };
    await Promise.all(players.all.map(playToItsEnd));
  });

  test('the player page seeks back in a live stream to its start, shows pictures of it, and comes back to live', async () => {
    const { stream } = shared;
    const { folder } = await recorded(stream.playbackId, 12);
    await storyboardOf(folder);
    for (const options of [
      process.env.SCREENSHOTS ? { viewport: { width: 1280, height: 800 } } : WINDOW,
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
      await untilPreviewed(page);
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/live-${options.viewport.width}.png` });
      const clickedAt = performance.now();
      await page.mouse.click(box.x + 2, box.y + box.height / 2);
      await untilShown(page, 'mode', 'replay');
      await untilShown(page, 'state', 'playing');
      await untilPlaying(page);
      // It cannot have played for longer than since the click.
      const beganAtS = (await positionOf(page)) - (performance.now() - clickedAt) / 1000;
      assert.ok(beganAtS < 2, `it begins at ${beganAtS} s or later`);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 2 });
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/replay-${options.viewport.width}.png` });
      // Keys seek as well, also while the time line has the focus. The video is paused, so that it does not get there by itself.
      await page.locator('#player').press('k');
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

  test('on a phone a tap on hidden controls only shows them, and the large button to play is free', async () => {
    const { stream } = shared;
    await recorded(stream.playbackId, 12);
    await using watched = await chromium.newPage(PHONE);
    const { page, errors } = watched;
    // Keeps the page from noticing that the video stalls, as on a busy machine. It would show the controls, and a tap would press them.
    await changeTimers(page, { ...IDLE, 400: 600_000 });
    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await untilShown(page, 'state', 'playing');
    await waitFor(async () => Number(await page.locator('#seek').getAttribute('max')) > 5, { what: 'a time line' });
    await page.evaluate(`
      globalThis.pressed = [];
      const note = ({ target }) => pressed.push(target.closest('[id]').id);
      for (const type of ['click', 'change']) document.getElementById('bar').addEventListener(type, note);
      globalThis.appeared = 0;
      const look = () => { appeared += document.documentElement.dataset.idle === undefined; };
      new MutationObserver(look).observe(document.documentElement, { attributeFilter: ['data-idle'] });
    `);
    /** Waits until the controls are hidden, does something, and waits until they have appeared. Soon they are hidden again. */
    const appearAfter = async (what: () => Promise<unknown>) => {
      await page.locator('html[data-idle][data-state="playing"]').waitFor({ state: 'attached' });
      const before = await page.evaluate<number>('appeared');
      await what();
      await waitFor(() => page.evaluate<boolean>(`appeared > ${before}`), { what: 'the controls' });
    };
    const tap = async (id: string) => {
      const box = (await page.locator(`#${id}`).boundingBox())!;
      await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    };
    for (const hidden of ['seek', 'play', 'mute', 'fullscreen']) await appearAfter(() => tap(hidden));
    assert.deepEqual(await page.evaluate('pressed'), []);
    // The time line stays shown while a finger rests on it before it moves on.
    await appearAfter(() =>
      page.locator('#seek').dispatchEvent('pointermove', { pointerType: 'touch', bubbles: true }),
    );
    // The controls are never hidden while the video is paused. Nothing may cover the large button, although the time line is near.
    for (const shown of ['play', 'big-play']) {
      await page.evaluate('document.getElementById("video").pause()');
      await untilShown(page, 'state', 'paused');
      await page.locator(`#${shown}`).tap();
      await untilShown(page, 'state', 'playing');
    }
    assert.equal(await page.locator('html').getAttribute('data-mode'), 'live');
    assert.deepEqual(await page.evaluate('pressed'), ['play']);
    assert.deepEqual(errors, []);
  });

  test('quick presses of the arrow keys add up, also from live', async () => {
    const { stream } = shared;
    // A page begins at least ten seconds before the end of a running recording.
    await recorded(stream.playbackId, 32);
    await using watched = await chromium.newPage(WINDOW);
    const { page, errors } = watched;
    // The video does not play, so that it stays where it is.
    await page.addInitScript('HTMLMediaElement.prototype.play = async () => {};');
    const seek = page.locator('#seek');
    /** Presses the key twice at once, and tells where the time line was. */
    const pressTwice = () =>
      page.evaluate<number>(`(() => {
        const from = document.getElementById('seek').valueAsNumber;
        for (let n = 0; n < 2; n += 1) document.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }));
        return from;
      })()`);
    const shows = (position: number, toleranceS: number) => async () => {
      const isShown = '(({ readyState, seeking }) => readyState >= 2 && !seeking)(document.querySelector("video"))';
      return (await page.evaluate<boolean>(isShown)) && Math.abs((await positionOf(page)) - position) < toleranceS;
    };
    await page.goto(`${server.url}/play/${stream.playbackId}?t=21`);
    await waitFor(shows(21, 0.5), { what: 'a picture at 21 s' });
    await waitFor(async () => Math.abs(Number(await seek.inputValue()) - 21) < 0.5, { what: 'a time line at 21 s' });
    await pressTwice();
    await waitFor(shows(1, 0.5), { what: 'a picture at 1 s' });

    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await waitFor(async () => Number(await seek.getAttribute('max')) > 22, { what: 'a time line' });
    // Whoever returns to live right after a key stays there.
    const settled = 'new Promise((resolve) => setTimeout(resolve, 500))';
    await pressTwice();
    await page.evaluate(`document.getElementById('live').click(); ${settled}`);
    assert.equal(await page.locator('html').getAttribute('data-mode'), 'live');
    const from = await pressTwice();
    await untilShown(page, 'mode', 'replay');
    // Where a busy machine interrupted the stream, the recording is shorter than the time.
    await waitFor(shows(from - 20, 4), { what: `a picture at about ${from - 20} s` });
    assert.ok(Math.abs(Number(await seek.inputValue()) - (from - 20)) < 4);
    assert.deepEqual(errors, []);

    // Before the first frame there is no position to seek from.
    await page.route('**/source.m3u8*', (route) => route.abort());
    await page.route('**/low.m3u8*', (route) => route.abort());
    await page.goto(`${server.url}/play/${stream.playbackId}`);
    await page.locator('#timeline').waitFor({ state: 'visible' });
    await pressTwice();
    await page.evaluate(settled);
    assert.equal(await page.locator('html').getAttribute('data-mode'), 'live');
  });

  test('a replay that the viewer has paused stays paused, however often it is lost meanwhile', async () => {
    const { stream } = shared;
    await recorded(stream.playbackId, 12);
    await using watched = await chromium.newPage(WINDOW);
    const { page, errors } = watched;
    await changeTimers(page, RESTART_PAUSES);
    await page.goto(`${server.url}/play/${stream.playbackId}?t=1`);
    await untilShown(page, 'mode', 'replay');
    await untilShown(page, 'state', 'playing');
    await page.locator('#player').press('k');
    await untilShown(page, 'state', 'paused');
    let refused = 0;
    await page.route('**/index.m3u8', async (route) => {
      refused += 1;
      await route.abort();
    });
    await page.route('**/{source,low}.m3u8*', (route) => route.abort());
    // Each attempt asks three times.
    await waitFor(() => refused >= 7, { what: 'three attempts', timeoutMs: 90_000 });
    await page.unrouteAll({ behavior: 'wait' });
    await waitFor(() => page.evaluate<boolean>('document.querySelector("video").readyState > 0'), {
      what: 'a frame',
      timeoutMs: 60_000,
    });
    assert.equal(await page.locator('html').getAttribute('data-state'), 'paused');
    assert.equal(await page.evaluate('document.querySelector("video").paused'), true);
    await page.locator('#player').press('k');
    await untilShown(page, 'state', 'playing');
    assert.deepEqual(errors, []);
  });

  test('a replay goes on after a segment that no browser can decode, and does not begin again', async () => {
    const { stream } = shared;
    const { folder } = await recorded(stream.playbackId, 20);
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    const { segments } = readMediaPlaylist(await (await fetch(`${folder}source.m3u8`)).text());
    let endS = 0;
    const bad = segments.find(({ durationS }) => {
      endS += durationS;
      return endS > 5;
    })!;
    let damaged = 0;
    await page.route(`**/${bad.uri!.split('/').at(-1)}*`, async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      damaged += 1;
      await route.fulfill({ response, body: body.fill(0xff, body.indexOf('mdat') + 4) });
    });
    await page.addInitScript(`
      globalThis.begun = [];
      addEventListener('seeked', ({ target }) => begun.push(target.currentTime), true);
    `);
    await page.goto(`${server.url}/play/${stream.playbackId}?t=1`);
    // The video plays fast up to the damaged segment, also when it starts again.
    const playAt = (rate: number) =>
      page.evaluate(
        `document.querySelector('video').defaultPlaybackRate = document.querySelector('video').playbackRate = ${rate}`,
      );
    await playAt(4);
    await waitFor(async () => (await positionOf(page)) > endS + 1, {
      what: 'the media after that segment',
      timeoutMs: 60_000,
    });
    await page.unrouteAll({ behavior: 'wait' });
    await playAt(1);
    await untilPlaying(page);
    await untilShown(page, 'state', 'playing');
    const [first = 0, ...others] = await page.evaluate<readonly number[]>('begun');
    assert.ok(damaged > 0 && first < 2 && others.length > 0, `begun at ${first}, then at ${others.join()}`);
    for (const each of others) assert.ok(each > endS - 5, `it begins again at ${each} s`);
  });

  test('a browser plays the MP4 and a clip of a running recording, and seeks in them', async () => {
    const { stream } = shared;
    // The end of an MP4 may be a part or two before that of the playlist.
    const { info, folder } = await recorded(stream.playbackId, 9, ['source', 'audio']);
    const lowS = await waitFor(() => wholeFrom(`${folder}low.m3u8`, 4, info.from!), { what: 'four whole seconds' });
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    for (const [file, lengthS] of [
      ['source.mp4?to=8', 8],
      [`low.mp4?from=${lowS}&to=${lowS + 4}`, 4],
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
          video.pause();
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
      startTime: info.from! + 2000,
      endTime: info.from! + 4000,
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
});

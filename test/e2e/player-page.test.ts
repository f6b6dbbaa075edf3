/**
 * The player page in a real browser: what it says, its buttons, and how it stands in a frame. (That it plays is `browser.test.ts`.)
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { CreatedStream } from '../support/api-client.ts';
import {
  changeTimers,
  launchChromium,
  NEEDS_CHROMIUM,
  type TestBrowser,
  type WatchedPage,
} from '../support/chromium.ts';
import { type Loop, publishLoop, recordLoop, SMALL } from '../support/looped-publisher.ts';
import { CHEAP, startServer, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { changeIndex, positionOf, RESTART_PAUSES, untilPlaying, untilShown } from './player-page.ts';
import { variantsListed } from './viewer.ts';

/** Small, because drawing a page takes more CPU time than decoding its video. */
const WINDOW = { viewport: { width: 640, height: 360 } };
/** Longer than any wait for media. */
const HOLD_MS = 60_000;
/** Smaller than the media, so that a test can tell a variant by its width. */
const SMALLER = { name: 'small', bitrate: 100_000, fps: 0, width: 256, height: 144 };

/** A script that removes media source extensions from the browser. */
const NO_MEDIA_SOURCE = 'delete globalThis.MediaSource; delete globalThis.ManagedMediaSource;';

/** Waits until the page shows a state. */
const showing = (page: Page, state: string) => untilShown(page, 'state', state);

/** Waits until the page shows a notice. */
const noticing = (page: Page, title: string) => page.locator('#notice-title').getByText(title).waitFor();

suite('the player page', { ...NEEDS_CHROMIUM, concurrency: 2 }, () => {
  const parts = new AsyncDisposableStack();
  let server: TestServer;
  let chromium: TestBrowser;
  let loop: Loop;

  before(async () => {
    server = parts.use(await startServer({ settings: CHEAP, longestHoldMs: HOLD_MS }));
    chromium = parts.use(await launchChromium());
    loop = await recordLoop();
  });
  after(() => parts.disposeAsync());

  const pageUrl = (stream: CreatedStream) => `${server.url}/play/${stream.playbackId}`;
  const publish = ({ streamKey }: CreatedStream) => publishLoop(server.rtmpPort, streamKey, { loop });

  async function openPage(url: string): Promise<WatchedPage> {
    const watched = await chromium.newPage(WINDOW);
    await watched.page.goto(url);
    return watched;
  }

  test('while the stream is offline the page says so, breaks no policy and loads nothing from other hosts', async () => {
    const stream = await server.api.createStream();
    await using watched = await openPage(pageUrl(stream));
    const { page, errors, failedRequests, hosts } = watched;
    await showing(page, 'offline');
    await noticing(page, 'The stream is offline');
    // It asks again.
    await waitFor(() => failedRequests.length >= 2, { what: 'a second question' });
    assert.deepEqual(new Set(failedRequests), new Set([`404 ${server.playlistUrl(stream.playbackId)}`]));
    assert.deepEqual(errors, []);
    assert.deepEqual([...hosts], [new URL(server.url).host]);
  });

  test('the page says why it cannot play now, and tries again with pauses', async () => {
    const stream = await server.api.createStream();
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    let isAway = true;
    await page.route('**/hls.mjs*', (route) => (isAway ? route.abort() : route.continue()));
    // Each request is answered once the test has seen what the page says about the previous answer.
    const codes = ['too_many_viewers', 'shutting_down', 'playlist_timeout'];
    const seen = codes.map(() => Promise.withResolvers<void>());
    const askedAt: number[] = [];
    const answeredAt: number[] = [];
    await page.route('**/index.m3u8', async (route) => {
      const turn = Math.min(askedAt.push(performance.now()), codes.length) - 1;
      if (turn > 0) await seen[turn - 1]!.promise;
      answeredAt.push(performance.now());
      // A date, as proxies may say it.
      const headers = { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' };
      await route.fulfill({ status: 503, headers, json: { code: codes[turn] } });
    });
    await page.goto(pageUrl(stream));
    await noticing(page, 'No connection');
    isAway = false;
    for (const [turn, title] of ['Too many viewers right now', 'No connection', 'The stream is offline'].entries()) {
      await noticing(page, title);
      seen[turn]!.resolve();
    }
    for (const turn of [1, 2]) {
      const pauseMs = askedAt[turn]! - answeredAt[turn - 1]!;
      assert.ok(pauseMs >= 900, `it asked again after ${pauseMs} ms`);
    }
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('the page says that it cannot decode a stream for as long as that is true', async () => {
    const stream = await server.api.createStream();
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    let asked = 0;
    await page.route('**/index.m3u8', async (route) => {
      asked += 1;
      const variant = '#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="vvc1.1.L51.CQA.O1+3"';
      await route.fulfill({ body: `#EXTM3U\n${variant}\npath/source.m3u8\n` });
    });
    await page.addInitScript(`
      globalThis.states = [];
      const look = () => states.push(document.documentElement.dataset.state);
      new MutationObserver(look).observe(document, { subtree: true, attributeFilter: ['data-state'] });
    `);
    await page.goto(pageUrl(stream));
    await showing(page, 'unsupported');
    const askedBefore = asked;
    await waitFor(() => asked >= askedBefore + 4, { what: 'two more tries' });
    const states = await page.evaluate<string[]>('states');
    assert.deepEqual(new Set(states.slice(states.indexOf('unsupported'))), new Set(['unsupported']));
  });

  test('audio is off until the viewer turns it on, and stays on from session to session', async () => {
    const stream = await server.api.createStream();
    await using strict = await launchChromium({ autoplay: 'muted' });
    await using watched = await strict.newPage(WINDOW);
    const { page, errors } = watched;
    await using publisher = await publish(stream);
    await page.goto(pageUrl(stream));
    await showing(page, 'playing');
    const muted = () => page.evaluate('document.getElementById("video").muted');
    assert.equal(await muted(), true);
    await page.getByRole('button', { name: 'Turn on sound' }).first().click();
    assert.equal(await muted(), false);
    await page.keyboard.press('m');
    assert.equal(await muted(), true);
    await page.keyboard.press('m');
    assert.equal(await muted(), false);

    await publisher.stop();
    await noticing(page, 'The stream has ended');
    await showing(page, 'offline');
    await using _second = await publish(stream);
    await showing(page, 'playing');
    assert.equal(await muted(), false);
    assert.deepEqual(errors, []);
  });

  test('a viewer can pause, and comes back at the live edge', async () => {
    const stream = await server.api.createStream();
    await using _publisher = await publish(stream);
    await using watched = await openPage(pageUrl(stream));
    const { page } = watched;
    await showing(page, 'playing');
    assert.equal(await page.locator('#quality').isVisible(), false, 'there is nothing to choose');
    // A letter is a key while the focus is in the player.
    await page.keyboard.press('k');
    assert.equal(await page.evaluate('document.getElementById("video").paused'), false);
    await page.locator('#player').press('k');
    await showing(page, 'paused');
    const pausedAt = await positionOf(page);
    const edge = async () =>
      Number(
        await page.evaluate('(({ seekable }) => seekable.end(seekable.length - 1))(document.getElementById("video"))'),
      );
    await waitFor(async () => (await edge()) > pausedAt + 4, { what: 'the live edge to move on' });
    await page.getByRole('button', { name: 'Play' }).first().click();
    await showing(page, 'playing');
    assert.ok((await positionOf(page)) > pausedAt + 2);
    await untilPlaying(page);
    await page.locator('#video').click();
    await showing(page, 'paused');
    await page.keyboard.press('k');
    await showing(page, 'playing');
  });

  test('where only the video itself can fill the screen, as on an iPhone, its button is there while there is media', async () => {
    const stream = await server.api.createStream();
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    await page.addInitScript(`
      Object.defineProperty(document, 'fullscreenEnabled', { value: undefined });
      HTMLVideoElement.prototype.webkitEnterFullscreen = () => { globalThis.isFull = true; };
    `);
    await page.goto(pageUrl(stream));
    await showing(page, 'offline');
    const button = page.getByRole('button', { name: 'Full screen' });
    assert.equal(await button.isVisible(), false);
    await using _publisher = await publish(stream);
    await showing(page, 'playing');
    await button.press('Enter');
    assert.equal(await page.evaluate('isFull'), true);
  });

  test('a viewer can choose a variant, which also applies to the next session, and return to auto with the keyboard', async () => {
    const stream = await server.api.createStream({ profiles: [SMALLER] });
    await using publisher = await publish(stream);
    const bothVariants = () => variantsListed(server.playlistUrl(stream.playbackId), 2);
    await bothVariants();
    await using watched = await chromium.newPage(WINDOW);
    const { page, errors, failedRequests } = watched;
    // How often the page looks for variants that were not listed before.
    await changeTimers(page, { 10000: 1000 });
    // The playlist announces a hundredth of the bitrates, so that hls.js finds even a busy machine fast enough for the source.
    await changeIndex(page, (text) => text.replace(/BANDWIDTH=\d+/g, (bitrate) => bitrate.slice(0, -2)));
    await page.goto(pageUrl(stream));
    const decoded = (width: number) =>
      waitFor(async () => (await page.evaluate('document.getElementById("video").videoWidth')) === width, {
        what: `a picture ${width} pixels wide`,
      });
    const list = page.getByRole('combobox', { name: 'Quality' });
    const level = (id: string) => page.locator(`html[data-level="${id}"]`).waitFor({ state: 'attached' });
    await showing(page, 'playing');
    await level('source');
    await decoded(SMALL.width);
    assert.equal(await page.locator('html').getAttribute('data-quality'), 'auto');
    const options = await waitFor(
      async () => {
        const texts = await list.locator('option').allTextContents();
        return texts[0] === 'Auto (180p15)' ? texts : undefined;
      },
      { what: 'the list of variants' },
    );
    assert.match(options[1] ?? '', /^180p15 \(source\) · \d{1,2} kbit\/s$/);
    assert.match(options[2] ?? '', /^144p15 · \d{1,2} kbit\/s$/);

    await list.selectOption('small');
    await level('small');
    await decoded(256);
    await untilPlaying(page);
    await publisher.stop();
    await noticing(page, 'The stream has ended');
    // The variant that the viewer chose is not listed when the page begins to play, as on a machine whose transcoder is late.
    const listAll = await changeIndex(page, (text) => text.replace(/#EXT-X-STREAM-INF.*\n.*small.*\n/, ''));
    await using _second = await publish(stream);
    await bothVariants();
    await showing(page, 'playing');
    await decoded(SMALL.width);
    assert.equal(await list.isVisible(), false, 'there is nothing to choose');
    await listAll();
    await decoded(256);

    await list.focus();
    await page.keyboard.press('Home');
    assert.equal(await page.locator('html').getAttribute('data-quality'), 'auto');
    await decoded(SMALL.width);
    await untilPlaying(page);
    await page.unrouteAll({ behavior: 'wait' });
    const poster = await page.request.get(String(await page.locator('#video').getAttribute('poster')));
    assert.deepEqual([poster.status(), poster.headers()['content-type']], [200, 'image/jpeg']);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      failedRequests.filter((request) => !request.endsWith('/index.m3u8')),
      [],
    );
  });

  test('a browser that plays no HLS says so', async () => {
    const stream = await server.api.createStream();
    await using watched = await chromium.newPage();
    const { page } = watched;
    await page.addInitScript(`${NO_MEDIA_SOURCE} HTMLMediaElement.prototype.canPlayType = () => '';`);
    await page.route('**/index.m3u8', (route) => route.fulfill({ body: '#EXTM3U\n' }));
    await page.goto(pageUrl(stream));
    await showing(page, 'unsupported');
  });

  test('an old browser without media source extensions plays it with its own HLS, and says what it cannot decode', async () => {
    const stream = await server.api.createStream();
    await using _publisher = await publish(stream);
    await using watched = await chromium.newPage(WINDOW);
    const { page, errors } = watched;
    await page.addInitScript(`${NO_MEDIA_SOURCE}
      delete Promise.withResolvers; delete AbortSignal.timeout; delete Array.prototype.toSorted;`);
    await page.goto(pageUrl(stream));
    await showing(page, 'playing');
    await untilPlaying(page);
    assert.equal(await page.locator('#quality').isVisible(), false);
    assert.equal(await page.evaluate('document.getElementById("video").src'), server.playlistUrl(stream.playbackId));
    assert.deepEqual(errors, []);
    await page.route('**/index.m3u8', async (route) => {
      const variant = '#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="vvc1.1.L51.CQA.O1+3"';
      await route.fulfill({ body: `#EXTM3U\n${variant}\npath/source.m3u8\n` });
    });
    await page.reload();
    await showing(page, 'unsupported');
  });

  test('a player inside a page of one’s own plays on after media that cannot be decoded', async () => {
    const stream = await server.api.createStream();
    await using _publisher = await publish(stream);
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    const body = `<script type="module" src="/play/element.js"></script>
      <millrace-player playback-id="${stream.playbackId}" muted></millrace-player>`;
    await page.route('**/own.html', (route) => route.fulfill({ contentType: 'text/html', body }));
    let damaged = 0;
    await page.route('**/source/*.m4s', async (route) => {
      const response = await route.fetch();
      const bytes = await response.body();
      const from = bytes.indexOf('mdat') + 4;
      if (from < 4 || damaged >= 3) return await route.fulfill({ response });
      damaged += 1;
      await route.fulfill({ response, body: bytes.fill(0xff, from) });
    });
    await page.goto(`${server.url}/own.html`);
    const playedS = () => page.evaluate<number>('document.querySelector("millrace-player").video?.currentTime ?? 0');
    await waitFor(() => damaged === 3, { what: 'three damaged parts' });
    await page.unrouteAll({ behavior: 'wait' });
    const from = await playedS();
    await waitFor(async () => Math.abs((await playedS()) - from) > 0.5, { what: 'the video to play' });
    assert.equal(await page.evaluate('document.querySelector("millrace-player").video.paused'), false);
  });

  test('after media that cannot be decoded the page plays on', async () => {
    const stream = await server.api.createStream();
    await using _publisher = await publish(stream);
    await using watched = await openPage(pageUrl(stream));
    const { page } = watched;
    await showing(page, 'playing');
    const firstUrl = await page.evaluate('document.getElementById("video").src');
    // Three parts are damaged, because the player may discard one before it is decoded, if a slow machine delivers it too late.
    let damaged = 0;
    await page.route('**/source/*.m4s', async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      const from = body.indexOf('mdat') + 4;
      if (damaged >= 3 || from < 4) return await route.fulfill({ response });
      damaged += 1;
      await route.fulfill({ response, body: body.fill(0xff, from) });
    });
    await waitFor(
      () =>
        page.evaluate<boolean>(
          `(({ src, paused }) => src !== ${JSON.stringify(firstUrl)} && !paused)(document.getElementById('video'))`,
        ),
      { what: 'another attempt' },
    );
    await page.unrouteAll({ behavior: 'wait' });
    await untilPlaying(page);
    await showing(page, 'playing');
  });

  test('a player inside a page of one’s own stays paused when it is lost, until the viewer plays it', async () => {
    const stream = await server.api.createStream();
    await using _publisher = await publish(stream);
    await using watched = await chromium.newPage(WINDOW);
    const { page, errors } = watched;
    await changeTimers(page, RESTART_PAUSES);
    const body = `<script type="module" src="/play/element.js"></script>
      <millrace-player playback-id="${stream.playbackId}" muted controls></millrace-player>`;
    await page.route('**/own.html', (route) => route.fulfill({ contentType: 'text/html', body }));
    await page.goto(`${server.url}/own.html`);
    const video = (what: string) => page.evaluate(`document.querySelector('millrace-player').video.${what}`);
    const untilPlays = async () => {
      const from = Number(await video('currentTime'));
      await waitFor(async () => Math.abs(Number(await video('currentTime')) - from) > 0.5, {
        what: 'the video to play',
      });
    };
    await page.locator('millrace-player').waitFor();
    await waitFor(() => page.evaluate<boolean>('customElements.get("millrace-player") !== undefined'), {
      what: 'the player',
    });
    await untilPlays();
    const lose = async () => {
      const before = await video('src');
      let refused = 0;
      await page.route('**/*.m3u8*', async (route) => {
        refused += 1;
        await route.abort();
      });
      // It is lost after three failures, and asks for index.m3u8 then.
      await waitFor(() => refused >= 4, { what: 'the loss' });
      await page.unrouteAll({ behavior: 'wait' });
      const isBack = async () => (await video('src')) !== before && Number(await video('readyState')) > 1;
      await waitFor(isBack, { what: 'a frame' });
    };
    await lose();
    await untilPlays();
    await video('pause()');
    await lose();
    assert.equal(await video('paused'), true);
    await video('play()');
    await untilPlays();
    assert.deepEqual(errors, []);
  });

  test('the embedded player shows only the video in a frame of another site, and the page itself cannot be framed', async () => {
    const stream = await server.api.createStream();
    await using _publisher = await publish(stream);
    await using watched = await chromium.newPage(WINDOW);
    const { page } = watched;
    // Another port is another site, and loopback may frame loopback.
    const elsewhere = createServer((_request, response) => {
      const frame = (id: string, url: string) => `<iframe id="${id}" width="640" height="360" src="${url}"></iframe>`;
      response.setHeader('content-type', 'text/html');
      response.end(`${frame('embed', `${pageUrl(stream)}?embed`)}${frame('page', pageUrl(stream))}`);
    });
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    using _elsewhere = { [Symbol.dispose]: () => elsewhere.close() };
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
    const frame = page.frameLocator('#embed');
    await frame.locator('html[data-state="playing"]').waitFor({ state: 'attached', timeout: 60_000 });
    const box = await frame.locator('#video').evaluate((video) => {
      const { width, height } = (
        video as unknown as { getBoundingClientRect(): { width: number; height: number } }
      ).getBoundingClientRect();
      return { width, height };
    });
    assert.deepEqual(box, { width: 640, height: 360 });
    assert.equal(await frame.getByText('Millrace').isVisible(), false);
    assert.equal(await page.frameLocator('#page').locator('#video').count(), 0);
  });
});

/**
 * The dashboard in a real browser: signing in and out, every page on a large screen and on a phone, light and dark, and the steps from an
 * empty server to a live stream.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { run } from '../cli/millrace.ts';
import type { CreatedStream } from '../support/api-client.ts';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser, type WatchedPage } from '../support/chromium.ts';
import { startPublisher } from '../support/publisher.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

/** Small frames at a low rate, so that a slow machine can encode, decode and draw them in time. */
const SMALL = { width: 320, height: 180, bitrateBps: 300_000, fps: { num: 15, den: 1 }, gop: 15 };
/** Text that would run as a script in a page that inserted it as HTML. */
const SCRIPT = `"><img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;
const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
/** The budgets of the first page, and of everything without hls.js. */
const FIRST_PAGE_BYTES = 45_000;
const ALL_BYTES = 120_000;
const FIRST_PAGE_REQUESTS = 8;

suite('the dashboard', NEEDS_CHROMIUM, () => {
  const parts = new AsyncDisposableStack();
  let server: ServerProcess;
  let chromium: TestBrowser;
  let stream: CreatedStream;
  let webhookId: string;

  before(async () => {
    server = parts.use(await startServerProcess({ settings: { MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' } }));
    chromium = parts.use(await launchChromium());
    stream = await server.api.createStream({ name: 'the evening show' });
    await server.api.createStream({ name: SCRIPT });
    const webhook = await server.api.request('POST', '/webhook', {
      name: 'shop',
      url: 'https://example.com/hook',
      events: ['stream.started'],
    });
    webhookId = ((await webhook.json()) as { id: string }).id;
  });
  after(() => parts.disposeAsync());

  const url = (path: string) => `${server.url}/dashboard${path === '/' ? '' : path}`;

  /** A page on which somebody is signed in with the admin's key. */
  async function openSignedIn(path: string, options: BrowserContextOptions = DESK): Promise<WatchedPage> {
    const watched = await chromium.newPage({ reducedMotion: 'reduce', ...options });
    await signInWithKey(watched.page, server.apiKey);
    if (path !== '/') await watched.page.goto(url(path));
    return watched;
  }

  async function signInWithKey(page: Page, key: string): Promise<void> {
    await page.goto(url('/'));
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('main#content[tabindex]').waitFor();
  }

  test('a link signs in once, and is not left in the address', async () => {
    const { stdout } = await run(['sign-in'], { settings: { DATA_DIR: server.dataDir } });
    const link = stdout.trim().replace(/^.*(?=\/dashboard)/, server.url);
    await using watched = await chromium.newPage(DESK);
    const { page, errors } = watched;
    await page.goto(link);
    const button = page.getByRole('button', { name: 'Sign in with this link' });
    await button.waitFor();
    assert.ok(!page.url().includes('#'));
    await button.click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    assert.deepEqual(errors, []);
    await page.reload();
    await page.getByRole('heading', { name: 'Home' }).waitFor();

    await using second = await chromium.newPage(DESK);
    await second.page.goto(link);
    await second.page.getByRole('button', { name: 'Sign in with this link' }).click();
    await second.page.getByText('This link was used already').waitFor();
  });

  test('nothing but the sign-in page is shown before somebody has signed in, and a wrong key says so', async () => {
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await page.goto(url(`/streams/${stream.id}`));
    await page.getByLabel('API key').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This API key is not valid').waitFor();
    assert.ok(!(await page.content()).includes('the evening show'));
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'the evening show' }).waitFor();
  });

  test('a browser that is signed out elsewhere is refused, and told so', async () => {
    await using watched = await openSignedIn('/keys');
    const { page } = watched;
    await page.getByText('this browser').waitFor();
    const answer = await server.api.request('GET', '/browser-session?limit=1');
    const [newest] = (await answer.json()) as { id: string }[];
    assert.equal((await server.api.request('DELETE', `/browser-session/${newest!.id}`)).status, 204);
    await page.getByText('You are signed out').waitFor();
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
  });

  test('a key that may only read sees no stream key, and is told what it may not do', async () => {
    const made = await server.api.request('POST', '/api-token', {
      name: 'reader',
      access: { rules: [{ resources: ['*'], methods: ['get'] }] },
    });
    const { key } = (await made.json()) as { key: string };
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await signInWithKey(page, key);
    await page.goto(url(`/streams/${stream.id}`));
    await page.getByText('The stream key is not shown').waitFor();
    assert.ok(!(await page.content()).includes(stream.streamKey));
    await page.goto(url('/streams/new'));
    await page.getByRole('button', { name: 'Create the stream' }).click({ force: true });
    await page.getByText('The rules of your API key do not allow you to create streams.').waitFor();
  });

  const PAGES = (): readonly (readonly [path: string, text: string])[] => [
    ['/', 'Nobody is live'],
    ['/wall', 'Nobody is live'],
    [`/dock/${stream.id}`, 'Offline'],
    ['/streams', 'the evening show'],
    ['/streams/new', 'What viewers can choose from'],
    [`/streams/${stream.id}/start`, 'Waiting for your encoder'],
    [`/streams/${stream.id}`, 'What happened'],
    ['/sessions', 'No session yet'],
    ['/recordings', 'Nothing is recorded yet'],
    ['/usage', 'What came in'],
    ['/webhooks', 'shop'],
    [`/webhooks/${webhookId}`, 'Nothing was sent yet'],
    ['/keys', 'this browser'],
    ['/admin', 'Who changed what'],
    ['/nothing', 'There is no such page'],
  ];

  for (const [name, options] of [
    ['on a desk in light colors', { ...DESK, colorScheme: 'light' }],
    ['on a desk in dark colors', { ...DESK, colorScheme: 'dark' }],
    ['on a phone in light colors', { ...PHONE, colorScheme: 'light' }],
    ['on a phone in dark colors', { ...PHONE, colorScheme: 'dark' }],
  ] as const) {
    test(`every page ${name} can be used by everybody, breaks no policy, loads nothing from elsewhere and is not too wide`, async () => {
      await using watched = await openSignedIn('/', options);
      const { page, errors, hosts } = watched;
      for (const [path, text] of PAGES()) {
        await page.goto(url(path));
        await page.getByText(text).first().waitFor();
        const { violations } = await new AxeBuilder({ page: page as never }).analyze();
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
        assert.deepEqual(found, [], path);
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.equal(width, options.viewport.width, `${path} is as wide as the window`);
      }
      assert.deepEqual(errors, []);
      assert.deepEqual([...hosts], [new URL(server.url).host]);
    });
  }

  test('no page is wider than its window, from 360 to 2,560 px, with German and Arabic names', async () => {
    const german = await server.api.createStream({
      name: 'Donaudampfschifffahrtsgesellschaftskapitänsversammlungsübertragung 2026, zweite Wiederholung',
    });
    const arabic = await server.api.createStream({ name: 'بث مباشر من القاهرة '.repeat(8) });
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    const paths = [german, arabic].flatMap(({ id }) => [`/streams/${id}`, `/streams/${id}/start`, `/dock/${id}`]);
    for (const path of [...PAGES().map(([each]) => each), ...paths]) {
      await page.goto(url(path));
      await page.locator('main h1').first().waitFor();
      for (const width of [360, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), width, `${path} at ${width}`);
      }
    }
    assert.deepEqual(errors, []);
    for (const { id } of [german, arabic]) await server.api.request('DELETE', `/stream/${id}`);
  });

  test('texts are copied where the connection is not secure and browsers offer no clipboard', async () => {
    await using watched = await chromium.newPage(DESK);
    const { page, errors } = watched;
    await page.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`);
    await signInWithKey(page, server.apiKey);
    await page.goto(url(`/streams/${stream.id}`));
    await page.evaluate(
      `document.addEventListener('copy', () => { document.title = getSelection().toString() || document.activeElement.value })`,
    );
    await page.getByRole('button', { name: 'Copy playback id' }).click();
    await page.getByText('Copied playback id.').waitFor();
    assert.equal(await page.title(), stream.playbackId);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Copy as curl' }).click();
    await waitFor(async () => (await page.title()).startsWith('curl '), { what: 'a copied command' });
    assert.deepEqual(errors, []);
  });

  test('script in a name is shown as text, in every list and page', async () => {
    await using watched = await openSignedIn('/streams');
    const { page, errors } = watched;
    await page.getByRole('link', { name: SCRIPT }).click();
    await page.getByRole('heading', { name: SCRIPT }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('onerror');
    await page.getByRole('option', { name: SCRIPT }).waitFor();
    assert.doesNotMatch(await page.title(), /broken in/);
    assert.deepEqual(errors, []);
  });

  test('the page cannot be framed', async () => {
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await page.goto(`${server.url}/docs`);
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(url('/'))} }))`,
    );
    await waitFor(() => watched.errors.some((error) => /frame-ancestors|frame-src|default-src/.test(error)), {
      what: 'a report of the policy',
    });
  });

  test('the first page stays within its budgets', async () => {
    await using watched = await openSignedIn('/');
    const { page } = watched;
    // What the page asks for after signing in is not counted.
    await page.goto('about:blank');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(url('/'));
    await page.getByText('Nobody is live').waitFor();
    const sizes = new Map<string, number>();
    for (const each of requests.filter((request) => request.endsWith('.js'))) {
      const answer = await fetch(each, { headers: { 'accept-encoding': 'gzip' } });
      sizes.set(each, Number(answer.headers.get('content-length')));
      await answer.body?.cancel();
    }
    const first = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(first > 0 && first <= FIRST_PAGE_BYTES, `${first} bytes of script`);
    assert.ok(requests.length <= FIRST_PAGE_REQUESTS, requests.join('\n'));
  });

  test('from an empty page to a stream that is live, with the keyboard where it matters, and to its end', async () => {
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    await page.getByRole('link', { name: 'Create a stream' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('My café stream');
    await page.getByText('Source only').click();
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for your encoder').first().waitFor();
    await page.getByRole('button', { name: 'Show Stream Key' }).click();
    const streamKey = (await page.locator('.copy-field', { hasText: 'Stream Key' }).locator('code').innerText()).trim();
    assert.match(streamKey, /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);

    const id = page.url().split('/').at(-2)!;
    const rotated = await server.api.request('POST', `/stream/${id}/rotate-key`);
    const { streamKey: newKey } = (await rotated.json()) as { streamKey: string };
    await assert.rejects(startPublisher({ url: server.rtmpUrl(streamKey), video: SMALL }));
    await page.getByText('The encoder uses a former key of this stream').first().waitFor();

    await assert.rejects(startPublisher({ url: server.rtmpUrl('aaaa-bbbb-cccc-dddd'), video: SMALL }));
    await page.getByText('The stream key is not the key of any stream').waitFor();

    await using publisher = await startPublisher({ url: server.rtmpUrl(newKey), video: SMALL });
    await page.getByText('You are live').waitFor();
    await waitFor(
      async () =>
        (await page.evaluate<number>(`document.querySelector('millrace-player')?.video.currentTime ?? 0`)) > 0.5,
      {
        what: 'a preview that plays',
        timeoutMs: 60_000,
      },
    );
    await page.getByRole('link', { name: 'Open the stream’s page' }).click();
    await page.getByText('Everything is as it should be').waitFor();

    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'End the broadcast' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click();
    await page.getByText('No media is coming in').waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the stream' }).click();
    await page.getByRole('heading', { name: 'Streams' }).waitFor();
    assert.equal((await server.api.request('GET', `/stream/${id}`)).status, 404);
    assert.deepEqual(errors, []);
    await publisher[Symbol.asyncDispose]();
  });

  test('a test picture is live within seconds of a press, is recorded, and a clip is cut of it', async () => {
    const made = await server.api.createStream({ name: 'test card', record: true });
    await using watched = await openSignedIn(`/streams/${made.id}/start`);
    const { page, errors } = watched;
    const pressedAt = performance.now();
    await page.getByRole('button', { name: 'Send a test picture' }).click();
    await page.getByText('You are live').waitFor({ timeout: 60_000 });
    console.log(`live ${((performance.now() - pressedAt) / 1000).toFixed(1)} s after the press`);
    await waitFor(
      async () =>
        (await page.evaluate<number>(`document.querySelector('millrace-player')?.video.currentTime ?? 0`)) > 3,
      {
        what: 'a preview that plays',
        timeoutMs: 60_000,
      },
    );
    await page.getByRole('button', { name: 'Stop the test picture' }).click();
    await page.getByText('Waiting for your encoder').first().waitFor({ timeout: 60_000 });

    await page.goto(url('/recordings'));
    await page.getByRole('link', { name: 'test card' }).click();
    const recorded = page.locator('video.recorded');
    await waitFor(
      async () => (await recorded.evaluate((video) => (video as unknown as { readyState: number }).readyState)) > 0,
      {
        what: 'a recording that can be played',
        timeoutMs: 60_000,
      },
    );
    const seek = (toS: number) =>
      recorded.evaluate((video, at) => {
        (video as unknown as { currentTime: number }).currentTime = at;
      }, toS);
    await page.getByLabel('Beginning of the clip').fill('0.2');
    await page.getByLabel('End of the clip').fill('2.2');
    await page.getByText('2 s long').waitFor();
    assert.equal(await recorded.evaluate((video) => (video as unknown as { currentTime: number }).currentTime), 2.2);
    await seek(0.5);
    await page.getByRole('button', { name: 'Begins here' }).click();
    await seek(1.5);
    await page.getByRole('button', { name: 'Ends here' }).click();
    await page.getByText('1 s long').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('the goal');
    await page.getByRole('button', { name: 'Make the clip' }).click();
    await page.getByRole('link', { name: 'the goal' }).click();
    await page.getByRole('heading', { name: 'the goal' }).waitFor();
    const { violations } = await new AxeBuilder({ page: page as never }).analyze();
    assert.deepEqual(violations, []);
    const clip = (await (await server.api.request('GET', `/asset/${page.url().split('/').at(-1)}`)).json()) as {
      id: string;
      playbackId: string;
      source: { sessionId: string };
    };
    for (const pasted of [clip.id, `https://live.example.com/play/${clip.playbackId}`]) {
      const search = page.getByRole('combobox');
      const opens = async () => {
        await page.keyboard.press('Control+k');
        return search.waitFor({ timeout: 2000 }).then(
          () => true,
          () => false,
        );
      };
      // Keys do not reach the page while the browser still closes the page that axe has worked in.
      await waitFor(opens, { what: 'the search' });
      await search.fill(pasted);
      await page.getByRole('option', { name: 'the goal Clip' }).waitFor();
      await page.keyboard.press('Escape');
      // The same keys close the search, until it knows that its dialog is closed.
      await page.getByRole('combobox').waitFor({ state: 'detached' });
    }
    await page.goto(url(`/sessions/${clip.source.sessionId}`));
    await page.getByRole('link', { name: 'Open the recording' }).click();
    await page.getByText('Make a clip').waitFor();
    assert.deepEqual(errors, []);
  });

  test('the wall has every live stream over the whole screen, those that need attention first, and no scroll bars', async () => {
    const made = await Promise.all(['a good one', 'a sick one'].map((name) => server.api.createStream({ name })));
    const [good, sick] = made.map(({ streamKey }) => server.rtmpUrl(streamKey));
    await using first = await startPublisher({ url: good!, video: SMALL });
    await using second = await startPublisher({ url: sick!, video: { ...SMALL, gop: 150 } });
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    await page.getByRole('link', { name: 'Wall', exact: true }).focus();
    await page.keyboard.press('Enter');
    const pictures = page.locator('.wall li');
    await pictures.filter({ hasText: 'a good one' }).getByText('Healthy').waitFor();
    await pictures.filter({ hasText: 'a sick one' }).getByText('Issues').waitFor({ timeout: 60_000 });
    await page.getByText('1 needs attention').waitFor();
    assert.match(await pictures.first().innerText(), /a sick one.*Issues.*0 viewers.*Keyframe/is);
    const { violations } = await new AxeBuilder({ page: page as never }).analyze();
    assert.deepEqual(violations, []);
    for (const viewport of [DESK.viewport, PHONE.viewport, { width: 2560, height: 1080 }]) {
      await page.setViewportSize(viewport);
      const isWhole = `[document.documentElement, ...document.querySelectorAll('.wall, .wall > ul')].every((each) =>
        each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight)`;
      await waitFor(() => page.evaluate<boolean>(isWhole), { what: `a wall of ${viewport.width} without scrolling` });
    }
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    assert.deepEqual(errors, []);
    // They are not transcoded and have no thumbnails, so none was asked for.
    assert.deepEqual(
      watched.failedRequests.filter((each) => each.includes('thumbnail')),
      [],
    );
    for (const { id } of made) await server.api.request('DELETE', `/stream/${id}`);
    for (const publisher of [first, second]) await publisher[Symbol.asyncDispose]();
  });

  test('the dock signs in where it is, shows one stream in a narrow window, and what to change', async () => {
    const made = await server.api.createStream({ name: 'Konferenz 2026: Hauptbühne und Nebenbühne', profiles: [] });
    await using watched = await chromium.newPage({ viewport: { width: 250, height: 600 }, reducedMotion: 'reduce' });
    const { page, errors } = watched;
    await page.goto(url(`/streams/${made.id}`));
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const address = await page.locator('.copy-field', { hasText: 'Dock' }).locator('code').innerText();
    assert.equal(address, url(`/dock/${made.id}`));
    await page.context().clearCookies();
    await page.goto(address);
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Offline', { exact: true }).waitFor();

    await assert.rejects(
      startPublisher({ url: `${server.rtmpUrl(made.streamKey).replace(made.streamKey, made.id)}`, video: SMALL }),
    );
    await page.getByText(/The encoder sends the id of this stream/).waitFor();

    await using publisher = await startPublisher({
      url: server.rtmpUrl(made.streamKey),
      video: { ...SMALL, gop: 150 },
    });
    const health = page.locator('.dock .health');
    await health.getByText('Issues').waitFor({ timeout: 60_000 });
    await page.getByText(/add -g 60/).waitFor();
    const numbers = page.locator('.dock .stats');
    await waitFor(async () => /kbit\/s.*15 fps.*\d s.*0/s.test(await numbers.innerText()), { what: 'the numbers' });
    for (const width of [250, 320, 400]) {
      await page.setViewportSize({ width, height: 600 });
      const widest = `Math.max(...[document.documentElement, ...document.querySelectorAll('.dock')].map((each) => each.scrollWidth))`;
      assert.equal(await page.evaluate<number>(widest), width);
    }
    const { violations } = await new AxeBuilder({ page: page as never }).analyze();
    assert.deepEqual(violations, []);
    await publisher[Symbol.asyncDispose]();
    await health.getByText(/Offline|Lost/).waitFor({ timeout: 60_000 });
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });

  test('the owner watches a stream and its recording under every policy, without a refusal, until signed out', async () => {
    const small = { name: 'small', bitrate: 200_000, fps: 0, width: 256, height: 144 };
    const body = { name: 'members only', record: true, profiles: [small], playbackPolicy: { type: 'jwt' } };
    const made = await server.api.createStream(body);
    await using publisher = await startPublisher({ url: server.rtmpUrl(made.streamKey), video: SMALL });
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page, errors, failedRequests } = watched;
    const plays = (what: string) =>
      waitFor(
        async () =>
          (await page.evaluate<number>(`document.querySelector('millrace-player')?.video.currentTime ?? 0`)) > 0.5,
        { what, timeoutMs: 60_000 },
      );
    await plays('the preview of a stream with tokens');
    await page.getByText(/^(source|small) · 1 viewer$/).waitFor();
    const link = page.getByRole('link', { name: 'Watch', exact: true }).first();
    await waitFor(async () => (await link.getAttribute('href'))!.includes('#jwt='), { what: 'a link with a token' });
    const href = (await link.getAttribute('href'))!;
    await using viewer = await chromium.newPage(DESK);
    await viewer.page.goto(href);
    await viewer.page.locator('html[data-state="playing"]').waitFor({ state: 'attached', timeout: 60_000 });
    await viewer.page.goto('about:blank');

    const playlist = server.playlistUrl(made.playbackId);
    assert.equal((await fetch(playlist)).status, 401, 'nobody else may watch');
    for (const [path, picture] of [
      ['/', '.tile'],
      ['/wall', '.wall li'],
    ] as const) {
      await page.goto(url(path));
      const shown = page.locator(picture).filter({ hasText: 'members only' }).locator('img');
      await waitFor(() => shown.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0), {
        what: `the thumbnail at ${path}`,
        timeoutMs: 60_000,
      });
    }
    const playbackPolicy = { type: 'webhook', webhookId };
    await server.api.request('PATCH', `/stream/${made.id}`, { playbackPolicy });
    await page.goto(url(`/streams/${made.id}`));
    await plays('the preview of a stream that a webhook guards');
    const sessions = await server.api.request('GET', `/stream/${made.id}/sessions`);
    const [session] = (await sessions.json()) as { id: string }[];
    await page.goto(url(`/recordings/${session!.id}`));
    await waitFor(() => page.evaluate<boolean>(`(document.querySelector('video.recorded')?.readyState ?? 0) >= 1`), {
      what: 'the recording',
      timeoutMs: 60_000,
    });
    assert.deepEqual(
      failedRequests.filter((each) => / \S+\/(hls|recordings)\//.test(each) && !each.startsWith('404')),
      [],
    );
    assert.deepEqual(errors, []);

    const query = `?${new URL(href).hash.slice(1)}`;
    assert.equal((await fetch(playlist + query)).status, 200);
    await page.goto(url('/'));
    await page.getByRole('button', { name: 'Account and appearance' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
    await waitFor(async () => (await fetch(playlist + query)).status === 401, { what: 'the end of the token' });
    await server.api.request('DELETE', `/stream/${made.id}`);
    await publisher[Symbol.asyncDispose]();
  });

  test('what happened leads to its moment in the recording', async () => {
    const made = await server.api.createStream({ name: 'kept', record: true, profiles: [] });
    await using publisher = await startPublisher({ url: server.rtmpUrl(made.streamKey), video: SMALL });
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page, errors } = watched;
    const link = page.getByRole('link', { name: 'Watch in the recording: Live: viewers can watch.' });
    await link.waitFor({ timeout: 60_000 });
    const [session] = (await (await server.api.request('GET', `/stream/${made.id}/sessions`)).json()) as {
      id: string;
      createdAt: number;
    }[];
    const href = (await link.getAttribute('href'))!;
    assert.equal(href, `${server.url}/play/${session!.id}?t=${session!.createdAt}`);
    assert.deepEqual(errors, []);
    await page.goto(href);
    await page
      .locator('html[data-mode="replay"][data-state="playing"]')
      .waitFor({ state: 'attached', timeout: 60_000 });
    await server.api.request('DELETE', `/stream/${made.id}`);
    await publisher[Symbol.asyncDispose]();
  });

  test('every dialog gives the curl command that does the same, and running it does', async () => {
    const made = await server.api.createStream({ name: 'for programs', profiles: [] });
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page, errors } = watched;
    const copied = async () => {
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Copy as curl' }).click();
      const command = await page.evaluate<string>('globalThis.copied');
      await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'detached' });
      return command;
    };
    await page.addInitScript(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text }`);
    await page.reload();
    const api = `${server.url}/api`;
    const ofStream = `'${api}/stream/${made.id}`;
    for (const [item, expected] of [
      ['Edit the name', `curl -X PATCH ${ofStream}'`],
      ['Delete', `curl -X DELETE ${ofStream}'`],
      ['Suspend', `curl -X PATCH ${ofStream}'`],
    ] as const) {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
      const command = await copied();
      assert.ok(command.startsWith(expected), command);
    }
    const suspend = await page.evaluate<string>('globalThis.copied');
    execFileSync('sh', ['-c', suspend], { env: { ...process.env, KEY: server.apiKey }, stdio: 'pipe' });
    await page.getByText('This stream is suspended').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.toast').getByRole('button', { name: 'Copy as curl' }).click();
    const resume = `curl -X PATCH ${ofStream}'`;
    await waitFor(async () => (await page.evaluate<string>('globalThis.copied')).startsWith(resume), {
      what: 'the command of a button without a dialog',
    });
    assert.match(await page.evaluate<string>('globalThis.copied'), /\{"suspended":false\}/);

    for (const [path, button, expected] of [
      [`/streams/${made.id}`, 'Replace the stream key', `-X POST ${ofStream}/rotate-key'`],
      [`/streams/${made.id}`, 'Change', `-X PATCH ${ofStream}'`],
      [`/streams/${made.id}`, 'Edit', `-X PATCH ${ofStream}'`],
      ['/keys', 'Create a key', `-X POST '${api}/api-token'`],
      ['/keys', 'Revoke', `-X DELETE '${api}/api-token/`],
      ['/webhooks', 'Create a webhook', `-X POST '${api}/webhook'`],
      [`/webhooks/${webhookId}`, 'Change', `-X PATCH '${api}/webhook/${webhookId}'`],
      ['/admin', 'Create a user', `-X POST '${api}/user'`],
    ] as const) {
      if (!page.url().endsWith(path)) await page.goto(url(path));
      await page.getByRole('button', { name: button, exact: true }).first().click();
      const command = await copied();
      assert.ok(command.startsWith(`curl ${expected}`), `${button}: ${command}`);
    }
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });

  test('the name, renditions, viewers and state of a stream are changed on its page, and a webhook on its own', async () => {
    const made = await server.api.createStream({ name: 'before', profiles: [] });
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page, errors } = watched;
    const dialog = page.getByRole('dialog');
    const save = () => dialog.getByRole('button', { name: 'Save' }).click();
    const more = async (item: string) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await more('Edit the name');
    await dialog.getByLabel('Name', { exact: true }).fill('after');
    await save();
    await page.getByRole('heading', { name: 'after' }).waitFor();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByText('With a token').click();
    await save();
    await page.getByText('Viewers need a token that your server signed').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByRole('button', { name: '480p' }).click();
    await save();
    await page.getByRole('cell', { name: '480p' }).waitFor();
    await more('Suspend');
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('This stream is suspended').waitFor();
    await more('Resume');
    await page.getByText('This stream is suspended').waitFor({ state: 'detached' });
    const shown = await server.api.request('GET', `/stream/${made.id}`);
    const { name, profiles, suspended, playbackPolicy } = (await shown.json()) as Record<string, unknown>;
    assert.deepEqual(
      [name, (profiles as { name: string }[]).map((each) => each.name), suspended, playbackPolicy],
      ['after', ['480p'], false, { type: 'jwt' }],
    );

    await page.goto(url(`/webhooks/${webhookId}`));
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('the shop');
    await save();
    await page.getByRole('heading', { name: 'the shop' }).waitFor();
    await more('Disable');
    await page.getByText('Disabled', { exact: true }).waitFor();
    await more('Enable');
    await page.getByText('Disabled', { exact: true }).waitFor({ state: 'detached' });
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });

  test('what is deleted or suspended is named before, one by one and many at once', async () => {
    const body = { name: 'doomed', profiles: [] };
    const made = [await server.api.createStream(body), await server.api.createStream(body)];
    await using watched = await openSignedIn('/streams?name=doomed');
    const { page, errors } = watched;
    await page.getByRole('checkbox', { name: 'Choose doomed' }).nth(1).waitFor();
    for (const box of await page.getByRole('checkbox', { name: 'Choose doomed' }).all()) await box.check();
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Suspend', exact: true }).click();
    await dialog.getByText('Suspend 2 streams?').waitFor();
    await dialog.getByText('None of them is live.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const shown = await server.api.request('GET', '/stream?filters=[{"id":"name","value":"doomed"}]');
    const rows = (await shown.json()) as readonly { suspended: boolean }[];
    assert.deepEqual(
      rows.map(({ suspended }) => suspended),
      [false, false],
    );
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByText(/recordings are deleted a day later/).waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click({ force: true });
    await page.getByText('Type the text first.').waitFor();
    await dialog.getByLabel('Type “delete 2” to confirm').press('Enter');
    for (const { id } of made) assert.equal((await server.api.request('GET', `/stream/${id}`)).status, 200);
    await dialog.getByLabel('Type “delete 2” to confirm').fill('delete 2');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No stream matches').waitFor();
    assert.deepEqual(errors, []);
  });

  test('what was typed stays when the server does not answer, and is sent once it does', async () => {
    await using watched = await openSignedIn('/streams/new');
    const { page } = watched;
    await page.getByLabel('Name', { exact: true }).fill('kept');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Create the stream' }).click();
    await page.getByText('The server cannot be reached').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'kept');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Create the stream' }).click();
    await page.getByRole('heading', { name: 'kept' }).waitFor();
  });

  test('what was typed stays while the server restarts under the page, and is saved by the new one', async () => {
    await using first = await startServerProcess();
    const made = await first.api.createStream({ name: 'old name', profiles: [] });
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await page.goto(`${first.url}/dashboard/streams/${made.id}`);
    await page.getByLabel('API key').fill(first.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit the name' }).click();
    const field = page.getByRole('dialog').getByLabel('Name', { exact: true });
    await field.fill('new name');
    await first.kill();
    await page.getByText('Reconnecting…').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByText('The server cannot be reached').waitFor();
    assert.equal(await field.inputValue(), 'new name');
    const settings = { MILLRACE_HTTP_PORT: String(first.httpPort), MILLRACE_RTMP_PORT: String(first.rtmpPort) };
    await using second = await startServerProcess({ dataDir: first.dataDir, apiKey: first.apiKey, settings });
    await page.locator('.liveness.live').waitFor();
    assert.equal(await field.inputValue(), 'new name');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'new name' }).waitFor();
    assert.equal((await second.api.getStream(made.id)).name, 'new name');
  });

  test('keys are created, shown once, and revoked', async () => {
    await using watched = await openSignedIn('/keys');
    const { page } = watched;
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('my program');
    await page.getByRole('dialog').getByText('Read only').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Show API key' }).click();
    const key = (await page.getByRole('dialog').locator('code').first().innerText()).trim();
    const ask = async () =>
      (await fetch(`${server.url}/api/stream`, { headers: { authorization: `Bearer ${key}` } })).status;
    assert.equal(await ask(), 200);
    await page.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /my program/ });
    await row.getByText('Read only').waitFor();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click();
    await row.waitFor({ state: 'detached' });
    assert.equal(await ask(), 401);
  });

  test('a webhook is created, its deliveries are shown with request and answer, and one is sent again', async () => {
    await using receiver = await startReceiver();
    await using watched = await openSignedIn('/webhooks');
    const { page, errors } = watched;
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('my receiver');
    await dialog.getByLabel('URL').fill(receiver.url);
    await dialog.getByText('stream.created', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'my receiver' }).waitFor();
    await server.api.createStream({ name: 'told of' });
    await page.getByRole('button', { name: 'stream.created' }).waitFor();
    await page.getByText('200 OK').waitFor();
    await page.getByRole('button', { name: 'stream.created' }).click();
    await page.getByRole('dialog').getByText('told of').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Send again' }).click();
    await waitFor(() => receiver.count() === 2, { what: 'the repeat' });
    assert.deepEqual(errors, []);
  });

  test('a test event is sent to a webhook from its page, and the answer is shown', async () => {
    await using receiver = await startReceiver();
    const body = { name: 'on trial', url: receiver.url, events: [] };
    const { id } = (await (await server.api.request('POST', '/webhook', body)).json()) as { id: string };
    await using watched = await openSignedIn(`/webhooks/${id}`);
    const { page, errors } = watched;
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('The test event was answered with 200 OK.').waitFor();
    const row = page.getByRole('row', { name: /webhook\.test/ });
    await row.getByText('200 OK').waitFor();
    assert.deepEqual([receiver.count(), errors], [1, []]);
  });

  test('a long list is gone through to its end and back, is renewed where it is shown, and has at most 300 rows in the page', async () => {
    const name = (index: number) => `long list, number ${index}`;
    const ids: string[] = [];
    for (let index = 0; index < 420; index += 1) ids.push((await server.api.createStream({ name: name(index) })).id);
    await using watched = await openSignedIn('/streams?name=long+list');
    const { page, errors } = watched;
    const link = (index: number) => page.getByRole('link', { name: name(index), exact: true });
    const rows = page.locator('tbody tr');
    await link(419).waitFor();
    const more = page.getByRole('button', { name: 'Show more' });
    // The list begins with the newest.
    for (let last = 419 - 99; last > 0; last -= 50) {
      await more.click();
      await link(last).waitFor();
      assert.ok((await rows.count()) <= 300, `${await rows.count()} rows`);
    }
    await more.click();
    await link(0).waitFor();
    await more.waitFor({ state: 'detached' });
    await link(419).waitFor({ state: 'detached' });

    await server.api.request('PATCH', `/stream/${ids[60]}`, { name: 'long list, renamed' });
    await page.getByRole('link', { name: 'long list, renamed' }).waitFor();
    const previous = page.getByRole('button', { name: 'Show previous' });
    for (const first of [319, 369, 419]) {
      await previous.click();
      await link(first).waitFor();
    }
    await previous.waitFor({ state: 'detached' });
    assert.equal(await rows.count(), 300);
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', '/stream', { ids });
  });

  test('events that do not stop never keep a page from showing what it reads, however slow that is', async () => {
    const { id } = await server.api.createStream({ name: 'busy 0' });
    await using watched = await openSignedIn('/streams?name=busy');
    const { page } = watched;
    await page.getByRole('link', { name: 'busy 0' }).waitFor();
    let changes = 0;
    const change = () => server.api.request('PATCH', `/stream/${id}`, { name: `busy ${++changes}` });
    // Every answer takes so long that many more events happen meanwhile.
    await page.route('**/api/stream?*', async (route) => {
      const since = changes;
      await waitFor(() => changes > since + 30, { what: 'more changes' });
      await route.continue().catch(() => {});
    });
    const isShown = () =>
      page
        .getByRole('link', { name: 'busy 0' })
        .count()
        .then((count) => count === 0);
    while (!(await isShown())) {
      assert.ok(changes < 300, 'three hundred changes, and none was shown');
      await change();
      await page.evaluate('new Promise(requestAnimationFrame)');
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await server.api.request('DELETE', `/stream/${id}`);
  });

  test('all scripts together stay within their budget', async () => {
    const { bundleFiles } = await import('#dashboard/bundler/bundle-files.ts');
    const { gzipSync } = await import('node:zlib');
    const scripts = [...(await bundleFiles())].filter(([name]) => name.endsWith('.js'));
    const all = scripts.reduce((sum, [, bytes]) => sum + gzipSync(bytes, { level: 9 }).length, 0);
    assert.ok(all <= ALL_BYTES, `${all} bytes`);
  });
});

/** A receiver of webhooks that takes everything. */
async function startReceiver() {
  let received = 0;
  const receiving = createServer((request, response) => {
    received += 1;
    request.resume();
    response.end('ok');
  });
  receiving.listen(0, '127.0.0.1');
  await once(receiving, 'listening');
  return {
    url: `http://127.0.0.1:${(receiving.address() as AddressInfo).port}/`,
    count: () => received,
    async [Symbol.asyncDispose]() {
      receiving.closeAllConnections();
      receiving.close();
    },
  };
}

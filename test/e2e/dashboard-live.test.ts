/**
 * The dashboard in a real browser while streams are live: from an empty page to a stream and its end, the wall, the dock, previews and recordings.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { NEEDS_CHROMIUM } from '../support/chromium.ts';
import { type Loop, publishLoop, recordLoop } from '../support/looped-publisher.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { axeOn, DESK, PHONE, startDashboard, type TestDashboard } from './dashboard-browser.ts';

suite('the dashboard of live streams', NEEDS_CHROMIUM, () => {
  const parts = new AsyncDisposableStack();
  let server: TestDashboard['server'];
  let chromium: TestDashboard['chromium'];
  let webhookId: TestDashboard['webhookId'];
  let url: TestDashboard['url'];
  let openSignedIn: TestDashboard['openSignedIn'];
  let signInWithKey: TestDashboard['signInWithKey'];
  let loop: Loop;
  /** Has a keyframe every eight seconds. */
  let sickLoop: Loop;

  before(async () => {
    ({ server, chromium, webhookId, url, openSignedIn, signInWithKey } = parts.use(await startDashboard()));
    [loop, sickLoop] = await Promise.all([recordLoop(), recordLoop({ gop: 150 })]);
  });
  after(() => parts.disposeAsync());

  const publish = (streamKey: string) => publishLoop(server.rtmpPort, streamKey, { loop });
  /** Publishes media with rare keyframes. Sends the second keyframe at once, because only then their interval is known. */
  const publishSick = (streamKey: string) => publishLoop(server.rtmpPort, streamKey, { loop: sickLoop, aheadMs: 9000 });
  const isRefused = (streamKey: string) =>
    assert.rejects(RtmpClient.publish(server.rtmpPort, streamKey), RtmpRefusedError);

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
    await isRefused(streamKey);
    await page.getByText('The encoder uses a former key of this stream').first().waitFor();

    await isRefused('aaaa-bbbb-cccc-dddd');
    await page.getByText('The stream key is not the key of any stream').first().waitFor();

    await using publisher = await publish(newKey);
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

    await page.locator('.uplot').first().waitFor();
    await page.evaluate(`document.querySelectorAll('.uplot').forEach((each) => { each.dataset.light = '' })`);
    await page.emulateMedia({ colorScheme: 'dark' });
    // Those of the other colors are drawn anew.
    await page.locator('.uplot[data-light]').first().waitFor({ state: 'detached' });
    await page.locator('.uplot').first().waitFor();

    const latency = page.getByText('behind the camera');
    await latency.waitFor({ timeout: 60_000 });
    await page.evaluate(`document.querySelector('millrace-player').video.pause()`);
    await latency.waitFor({ state: 'detached' });

    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByText('End the broadcast first.').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled'), 'true');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit the name' }).click();
    assert.ok(await dialog.getByLabel('Record its sessions').isDisabled());
    await dialog.getByLabel('Name', { exact: true }).fill('My bar stream');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'My bar stream' }).waitFor();

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
    const made = await server.api.createStream({ name: 'test card', record: true, profiles: [] });
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
    // Until then the page would show the recording as far as it is written.
    const isReady = async () => {
      const [recorded] = (await (await server.api.request('GET', '/asset')).json()) as { status: { phase: string } }[];
      return recorded?.status.phase === 'ready';
    };
    await waitFor(isReady, { what: 'the recording to be ready' });

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
    const lengthS = await recorded.evaluate((video) => (video as unknown as { duration: number }).duration);
    await seek(lengthS - 1.5);
    await page.getByRole('button', { name: 'Begins here' }).click();
    await seek(lengthS - 0.5);
    await page.getByRole('button', { name: 'Ends here' }).click();
    await page.getByText('1 s long').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('the goal');
    // The command has the times, which are read from the playlist.
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    await page.getByRole('button', { name: 'Make the clip' }).click();
    await page.getByRole('link', { name: 'the goal' }).click();
    await page.getByRole('heading', { name: 'the goal' }).waitFor();
    const { violations } = await axeOn(page).analyze();
    assert.deepEqual(violations, []);
    const clip = (await (await server.api.request('GET', `/asset/${page.url().split('/').at(-1)}`)).json()) as {
      id: string;
      playbackId: string;
      startTime: number;
      source: { sessionId: string };
    };
    const asset = await server.api.request('GET', `/asset/${clip.source.sessionId}`);
    const { endTime } = (await asset.json()) as { endTime: number };
    const beforeEndS = (endTime - clip.startTime) / 1000;
    assert.ok(Math.abs(beforeEndS - 1.5) < 0.1, `the clip begins ${beforeEndS} s before the end of the recording`);
    for (const pasted of [clip.id, `https://live.example.com/play/${clip.playbackId}`]) {
      const search = page.getByRole('combobox');
      await page.keyboard.press('Control+k');
      await search.fill(pasted);
      await page.getByRole('option', { name: 'the goal Clip' }).waitFor();
      await page.keyboard.press('Escape');
      // The same keys would close the search until its element is removed, which happens after the dialog is hidden.
      await page.locator('dialog.palette').waitFor({ state: 'detached' });
    }
    await page.goto(url(`/sessions/${clip.source.sessionId}`));
    await page.getByRole('link', { name: 'Open the recording' }).click();
    await page.getByText('Make a clip').waitFor();
    assert.deepEqual(errors, []);
  });

  test('the wall has every live stream over the whole screen, those that need attention first, and no scroll bars', async () => {
    const made = await Promise.all(['a good one', 'a sick one'].map((name) => server.api.createStream({ name })));
    await using first = await publish(made[0]!.streamKey);
    await using second = await publishSick(made[1]!.streamKey);
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    await page.getByRole('link', { name: 'Wall', exact: true }).focus();
    await page.keyboard.press('Enter');
    const pictures = page.locator('.wall li');
    await pictures.filter({ hasText: 'a good one' }).getByText('Healthy').waitFor();
    await pictures.filter({ hasText: 'a sick one' }).getByText('Issues').waitFor({ timeout: 60_000 });
    await page.getByText('1 needs attention').waitFor();
    assert.match(await pictures.first().innerText(), /a sick one.*Issues.*0 viewers.*Keyframe/is);
    const { violations } = await axeOn(page).analyze();
    assert.deepEqual(violations, []);
    for (const viewport of [DESK.viewport, PHONE.viewport, { width: 2560, height: 1080 }]) {
      await page.setViewportSize(viewport);
      const isWhole = `[document.documentElement, ...document.querySelectorAll('.wall, .wall > ul')].every((each) =>
        each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight)`;
      await waitFor(() => page.evaluate<boolean>(isWhole), { what: `a wall of ${viewport.width} without scrolling` });
    }
    // It reads everything every few seconds, also for a user whose event streams are used up.
    let refused = 0;
    await page.route('**/api/event/stream', async (route) => {
      refused += 1;
      await route.fulfill({ status: 403, json: { errors: ['No more.'], code: 'quota_exceeded', requestId: '1' } });
    });
    await page.reload();
    await waitFor(() => refused >= 2, { what: 'two refusals' });
    await pictures.filter({ hasText: 'a sick one' }).waitFor();
    assert.equal(await page.getByText('Not up to date').count(), 0);
    await page.unrouteAll({ behavior: 'wait' });
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Home' }).waitFor();

    await page.goto(url('/streams?show=live'));
    await page.getByRole('checkbox', { name: 'Choose a good one' }).check();
    await page.getByRole('button', { name: 'Offline', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Choose a good one' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByText('1 of them is live now: a good one.').waitFor();
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
    await using watched = await chromium.newPage({ viewport: { width: 250, height: 600 } });
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

    await isRefused(made.id);
    await page.getByText(/The encoder sends the id of this stream/).waitFor();

    await using publisher = await publishSick(made.streamKey);
    const health = page.locator('.dock .health');
    await health.getByText('Issues').waitFor({ timeout: 60_000 });
    await page.getByText(/add -g 60/).waitFor();
    const numbers = page.locator('.dock .stats');
    await waitFor(async () => /kbit\/s.*\d fps.*\d s.*0/s.test(await numbers.innerText()), { what: 'the numbers' });
    for (const width of [250, 320, 400]) {
      await page.setViewportSize({ width, height: 600 });
      const widest = `Math.max(...[document.documentElement, ...document.querySelectorAll('.dock')].map((each) => each.scrollWidth))`;
      assert.equal(await page.evaluate<number>(widest), width);
    }
    const { violations } = await axeOn(page).analyze();
    assert.deepEqual(violations, []);
    await publisher[Symbol.asyncDispose]();
    await health.getByText(/Offline|Lost/).waitFor({ timeout: 60_000 });
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });

  test('the owner watches a stream and its recording under every policy, without a refusal, until signed out', async () => {
    const small = { name: 'small', bitrate: 200_000, fps: 0, width: 256, height: 144 };
    // The pages of the server itself need not be allowed.
    const allowedOrigins = ['https://example.com'];
    const first = { type: 'jwt', allowedOrigins };
    const body = { name: 'members only', record: true, profiles: [small], playbackPolicy: first };
    const made = await server.api.createStream(body);
    await using publisher = await publish(made.streamKey);
    await using watched = await chromium.newPage(DESK);
    const { page, errors, failedRequests } = watched;
    await signInWithKey(page, server.apiKey);
    await page.goto(url(`/streams/${made.id}`));
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
    const playbackPolicy = { type: 'webhook', webhookId, allowedOrigins };
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
    await using publisher = await publish(made.streamKey);
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page, errors } = watched;
    const link = page.getByRole('link', { name: 'Watch in the recording: Live: viewers can watch.' });
    await link.waitFor({ timeout: 60_000 });
    const [session] = (await (await server.api.request('GET', `/stream/${made.id}/sessions`)).json()) as {
      id: string;
      createdAt: number;
    }[];
    const started = await server.api.request('GET', '/event?type=session.started');
    const events = (await started.json()) as { sessionId: string; createdAt: number }[];
    const { createdAt } = events.find(({ sessionId }) => sessionId === session!.id)!;
    // The page begins five seconds before what happened, but not before the session.
    const fromMs = Math.max(session!.createdAt, createdAt - 5000);
    const href = (await link.getAttribute('href'))!;
    assert.equal(href, `${server.url}/play/${session!.id}?t=${fromMs}`);
    assert.deepEqual(errors, []);
    await page.goto(href);
    await page
      .locator('html[data-mode="replay"][data-state="playing"]')
      .waitFor({ state: 'attached', timeout: 60_000 });
    await server.api.request('DELETE', `/stream/${made.id}`);
    await publisher[Symbol.asyncDispose]();
  });
});

/**
 * The dashboard in a real browser: signing in and out, and everything that is created, changed, listed and deleted there.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { run } from '../cli/millrace.ts';
import { ApiClient } from '../support/api-client.ts';
import { changeTimers, NEEDS_CHROMIUM } from '../support/chromium.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver } from '../support/webhook-receiver.ts';
import { DESK, startDashboard, type TestDashboard, TOAST_STEP_MS } from './dashboard-browser.ts';

suite('the dashboard', NEEDS_CHROMIUM, () => {
  const parts = new AsyncDisposableStack();
  let server: TestDashboard['server'];
  let chromium: TestDashboard['chromium'];
  let stream: TestDashboard['stream'];
  let webhookId: TestDashboard['webhookId'];
  let url: TestDashboard['url'];
  let openSignedIn: TestDashboard['openSignedIn'];
  let signInWithKey: TestDashboard['signInWithKey'];

  before(async () => {
    ({ server, chromium, stream, webhookId, url, openSignedIn, signInWithKey } = parts.use(await startDashboard()));
  });
  after(() => parts.disposeAsync());

  test('a link signs in once, and is not left in the address', async () => {
    const makeLink = async () => {
      const { stdout } = await run(['sign-in'], { settings: { DATA_DIR: server.dataDir } });
      return stdout.trim().replace(/^.*(?=\/dashboard)/, server.url);
    };
    const link = await makeLink();
    await using watched = await chromium.newPage(DESK);
    const { page, errors } = watched;
    await page.goto(link);
    const button = page.getByRole('button', { name: 'Sign in with this link' });
    await button.waitFor();
    assert.ok(!page.url().includes('#'));
    await button.click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    assert.deepEqual(errors, []);
    // A server that cannot answer for a moment has signed nobody out.
    await page.route('**/dashboard/session/token', (route) => route.fulfill({ status: 503, body: 'no database' }));
    await page.reload();
    await page.getByText('The server answered 503.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('heading', { name: 'Home' }).waitFor();

    await using second = await chromium.newPage(DESK);
    await second.page.goto(link);
    await second.page.getByRole('button', { name: 'Sign in with this link' }).click();
    await second.page.getByText('This link was used already').waitFor();
    await second.page.goto(await makeLink());
    await second.page.getByText('This link was used already').waitFor({ state: 'detached' });
    assert.ok(!second.page.url().includes('#'));
    await second.page.getByRole('button', { name: 'Sign in with this link' }).click();
    await second.page.getByRole('heading', { name: 'Home' }).waitFor();
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
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await signInWithKey(page, server.apiKey);
    await page.goto(url('/keys'));
    await page.getByText('this browser').waitFor();
    // More browsers than the page lists, one of which is signed out meanwhile.
    // The token that is made meanwhile is one of a user who is no admin any more.
    await page.getByRole('link', { name: 'Admin' }).waitFor();
    await page.route('**/dashboard/session/token', async (route) => {
      const answer = await route.fetch();
      const { user, ...rest } = (await answer.json()) as { user: object };
      await route.fulfill({ response: answer, json: { ...rest, user: { ...user, isAdmin: false } } });
    });
    const refusal = { errors: ['The token has ended.'], code: 'unauthenticated', requestId: '1' };
    let isRefused = false;
    const session = (id: string) => ({ id, address: '::1', createdAt: 1, lastSeen: 1, isCurrent: id === 'own' });
    const ended: string[] = [];
    await page.route('**/api/browser-session?*', async (route) => {
      const isAll = !route.request().url().endsWith('=50');
      if (isAll && !isRefused) {
        isRefused = true;
        await route.fulfill({ status: 401, json: refusal });
      } else await route.fulfill({ json: ['own', 'gone', ...(isAll ? ['far'] : [])].map(session) });
    });
    await page.route('**/api/browser-session/*', async (route) => {
      const id = route.request().url().split('/').at(-1)!;
      ended.push(id);
      if (id !== 'gone') await route.fulfill({ status: 204 });
      else
        await route.fulfill({ status: 404, json: { errors: ['There is none.'], code: 'not_found', requestId: '1' } });
    });
    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await page.getByText('All other browsers are signed out.').waitFor();
    assert.deepEqual(ended, ['gone', 'far']);
    await page.getByRole('link', { name: 'Admin' }).waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'wait' });
    const answer = await server.api.request('GET', '/browser-session?limit=1');
    const [newest] = (await answer.json()) as { id: string }[];
    assert.equal((await server.api.request('DELETE', `/browser-session/${newest!.id}`)).status, 204);
    await page.getByText('You are signed out').waitFor();
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
  });

  test('a key that may only read sees no stream key, and is told what it may not do', async () => {
    const made = await server.api.request('POST', '/api-token', {
      name: 'reader',
      access: { rules: [{ resources: ['stream', 'stream/*', 'session'], methods: ['get'] }] },
    });
    const { key } = (await made.json()) as { key: string };
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await signInWithKey(page, key);
    await page.getByText('Without live events').waitFor();
    await page.goto(url(`/streams/${stream.id}`));
    await page.getByText('The stream key is not shown').waitFor();
    assert.ok(!(await page.content()).includes(stream.streamKey));
    await page.goto(url('/streams/new'));
    await page.getByRole('button', { name: 'Create the stream' }).click({ force: true });
    await page.getByText('The rules of your API key do not allow you to create streams.').waitFor();
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
    // The server has a newer version, and no longer the files of this page.
    await page.route(/\/qr[^/]*\.js$/, (route) => route.fulfill({ status: 404 }));
    await page.getByRole('button', { name: 'Other', exact: true }).click();
    await page.getByRole('button', { name: 'Show a QR code for a phone' }).click();
    await page.getByRole('dialog').getByText('load this page again').waitFor();

    let urls = ['rtmp://live.example.com/live', 'rtmps://live.example.com/live'];
    await page.route('**/api/ingest', (route) => route.fulfill({ json: urls.map((ingest) => ({ ingest })) }));
    await page.reload();
    await page.getByRole('button', { name: 'RTMPS, encrypted' }).click();
    await page.getByText('rtmps://live.example.com/live').first().waitFor();
    urls = [];
    await page.reload();
    await page.getByText('This server takes no streams').waitFor();
  });

  test('every dialog gives the curl command that does the same, and running it does', async () => {
    const made = await server.api.createStream({ name: 'for programs', profiles: [] });
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page, errors } = watched;
    const copied = async () => {
      const dialog = page.getByRole('dialog');
      await page.evaluate('delete globalThis.copied');
      await dialog.getByRole('button', { name: 'Copy as curl' }).click();
      const command = await waitFor(() => page.evaluate<string | undefined>('globalThis.copied'), {
        what: 'a command',
      });
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
    await promisify(execFile)('sh', ['-c', suspend], { env: { ...process.env, KEY: server.apiKey } });
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
    await page.getByRole('button', { name: 'Show Stream Key' }).click();
    await page.getByText(made.streamKey).waitFor();
    await page.getByRole('button', { name: 'Replace the stream key' }).click();
    await dialog.getByRole('button', { name: 'Replace the key' }).click();
    await page.getByText('The stream has a new key').waitFor();
    const shownKey = page.locator('.copy-field', { hasText: 'Stream Key' }).locator('code');
    assert.match(await shownKey.innerText(), /^covered/, 'a new key is shown only to those who ask for it');
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
    await using watched = await openSignedIn('/streams');
    const { page, errors } = watched;
    const search = page.getByRole('searchbox');
    await search.fill('doomed');
    await page.getByRole('button', { name: 'Offline', exact: true }).click();
    await page.waitForURL('**/streams?name=doomed&show=offline');
    await page.getByRole('link', { name: 'Streams', exact: true }).click();
    await page.waitForURL(url('/streams'));
    await waitFor(async () => (await search.inputValue()) === '', { what: 'an empty search box' });
    await page.goto(url('/streams?name=doomed'));
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
    await dialog.getByText('Type the text first.').waitFor();
    await dialog.getByLabel('Type “delete 2” to confirm').press('Enter');
    for (const { id } of made) assert.equal((await server.api.request('GET', `/stream/${id}`)).status, 200);
    await dialog.getByLabel('Type “delete 2” to confirm').fill('delete 2');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No stream matches').waitFor();
    assert.deepEqual(errors, []);
  });

  test('what was typed stays when the server does not answer, and is carried out once when it is sent again', async () => {
    await using watched = await openSignedIn('/streams/new');
    const { page } = watched;
    await page.getByLabel('Name', { exact: true }).fill('kept');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Create the stream' }).click();
    await page.getByText('The server cannot be reached').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'kept');
    await page.context().setOffline(false);
    // The page keeps its earlier message until it knows that this request has failed, too.
    const lost = page.waitForEvent('requestfailed', (request) => request.method() === 'POST');
    await page.route('**/api/stream', async (route) => {
      assert.equal((await route.fetch()).status(), 201);
      await route.abort();
    });
    await page.getByRole('button', { name: 'Create the stream' }).click();
    await lost;
    await page.getByText('The server cannot be reached').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Create the stream' }).click();
    await page.getByRole('heading', { name: 'kept' }).waitFor();
    const shown = await server.api.request('GET', '/stream?filters=[{"id":"name","value":"kept"}]');
    assert.equal(((await shown.json()) as readonly unknown[]).length, 1);
  });

  test('what was typed stays while the server restarts under the page, and is saved by the new one', async () => {
    await using folder = await temporaryFolder();
    const dataDir = folder.path;
    await using first = await startServer({ dataDir });
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
    await first[Symbol.asyncDispose]();
    await page.getByText('Reconnecting…').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByText('The server cannot be reached').waitFor();
    assert.equal(await field.inputValue(), 'new name');
    const settings = { MILLRACE_HTTP_PORT: String(first.httpPort), MILLRACE_RTMP_PORT: String(first.rtmpPort) };
    await using second = await startServer({ dataDir, apiKey: first.apiKey, settings });
    await page.locator('.liveness.live').waitFor();
    assert.equal(await field.inputValue(), 'new name');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'new name' }).waitFor();
    assert.equal((await second.api.getStream(made.id)).name, 'new name');
  });

  test('keys are created, shown once, and revoked', async () => {
    await using watched = await openSignedIn('/keys');
    const { page } = watched;
    const create = page.getByRole('button', { name: 'Create a key' }).first();
    await create.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('Enter');
    // The focus is where it was before the dialog.
    await page.locator('button:focus').getByText('Create a key').waitFor();
    await create.click();
    await page.getByLabel('Name', { exact: true }).fill('my program');
    await page.getByRole('dialog').getByText('Read only').click();
    const answer = Promise.withResolvers<void>();
    await page.route('**/api/api-token', async (route) => {
      await answer.promise;
      await route.continue();
    });
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await sent;
    // What is under way cannot be taken back, so nothing hides its answer: Escape twice, a press beside the dialog.
    for (const _ of [1, 2]) await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    answer.resolve();
    await page.getByRole('button', { name: 'Show API key' }).click();
    await page.unrouteAll({ behavior: 'wait' });
    // A selection that begins in the dialog and ends beside it.
    await page.getByRole('dialog').locator('code').first().hover();
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
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
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    await changeTimers(page, { 5000: 250 });
    await page.goto(url('/webhooks'));
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
    await waitFor(() => receiver.received.length === 2, { what: 'the repeat' });
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
    assert.deepEqual([receiver.received.length, errors], [1, []]);
  });

  test('a long list is gone through to its end and back, is renewed where it is shown, and has at most 300 rows in the page', async () => {
    const name = (index: number) => `long list, number ${index}`;
    const ids: string[] = [];
    const last = 359;
    for (let index = 0; index <= last; index += 1) ids.push((await server.api.createStream({ name: name(index) })).id);
    await using watched = await openSignedIn('/streams?name=long+list');
    const { page, errors } = watched;
    const link = (index: number) => page.getByRole('link', { name: name(index), exact: true });
    const rows = page.locator('tbody tr');
    await link(last).waitFor();
    const more = page.getByRole('button', { name: 'Show more' });
    // The list begins with the newest.
    for (let oldest = last - 99; oldest > 0; oldest -= 50) {
      await more.click();
      await link(oldest).waitFor();
      assert.ok((await rows.count()) <= 300, `${await rows.count()} rows`);
    }
    await more.click();
    await link(0).waitFor();
    await more.waitFor({ state: 'detached' });
    await link(last).waitFor({ state: 'detached' });

    await server.api.request('PATCH', `/stream/${ids[60]}`, { name: 'long list, renamed' });
    await page.getByRole('link', { name: 'long list, renamed' }).waitFor();
    const previous = page.getByRole('button', { name: 'Show previous' });
    for (const first of [last - 50, last]) {
      await previous.click();
      await link(first).waitFor();
    }
    await previous.waitFor({ state: 'detached' });
    assert.equal(await rows.count(), 300);
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', '/stream', { ids });
  });

  test('an event that comes while older ones are being loaded is shown', async () => {
    const made = await server.api.createStream();
    const change = (fields: object) => server.api.request('PATCH', `/stream/${made.id}`, fields);
    for (let count = 0; count < 30; count += 1) await change({ name: `name ${count}` });
    await using watched = await openSignedIn(`/streams/${made.id}`);
    const { page } = watched;
    const shown = page.locator('.timeline li');
    await shown.nth(24).waitFor();
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let asked = 0;
    await page.route(new RegExp(`/api/event\\?.*${made.id}`), async (route) => {
      asked += 1;
      await answers[asked - 1]?.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Show more' }).click();
    await waitFor(() => asked === 1, { what: 'the request for older events' });
    await change({ record: true });
    await waitFor(() => asked === 2, { what: 'the request for the new event' });
    answers[0]!.resolve();
    await shown.nth(25).waitFor();
    answers[1]!.resolve();
    await page.getByText('Changed: record.').waitFor();
    await shown.nth(25).waitFor();
  });

  test('an admin sees the names of streams of others, without links that lead nowhere', async () => {
    const created = await server.api.request('POST', '/user', { name: 'somebody' });
    const { id: userId } = (await created.json()) as { id: string };
    const token = await server.api.request('POST', '/api-token', { name: 'key', userId });
    const theirs = new ApiClient(`${server.url}/api`, ((await token.json()) as { key: string }).key);
    const { id: theirId } = await theirs.createStream({ name: 'the show of somebody' });
    await using watched = await openSignedIn('/');
    const { page } = watched;
    const attempt = { reason: 'x', message: 'why', protocol: 'rtmp', address: '::1', isFromHere: false, count: 1 };
    const at = { firstAt: Date.now(), lastAt: Date.now() };
    await page.route('**/api/attempt?all=1', (route) =>
      route.fulfill({ json: [theirId, stream.id].map((streamId) => ({ ...attempt, ...at, streamId })) }),
    );
    await page.goto(url('/admin'));
    await page.getByRole('link', { name: 'the evening show' }).waitFor();
    await page.getByText('the show of somebody').waitFor();
    assert.equal(await page.getByRole('link', { name: 'the show of somebody' }).count(), 0);
  });

  test('events that do not stop never keep a page from showing what it reads, however slow that is', async () => {
    const { id } = await server.api.createStream({ name: 'busy 0' });
    await using watched = await openSignedIn('/streams?name=busy');
    const { page } = watched;
    await page.getByRole('link', { name: 'busy 0' }).waitFor();
    let changes = 0;
    const change = () => server.api.request('PATCH', `/stream/${id}`, { name: `busy ${++changes}` });
    let isOver = false;
    // Every answer takes so long that many more events happen meanwhile.
    await page.route('**/api/stream?*', async (route) => {
      const since = changes;
      await waitFor(() => isOver || changes > since + 30, { what: 'more changes' });
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
    isOver = true;
    await page.unrouteAll({ behavior: 'wait' });
    await server.api.request('DELETE', `/stream/${id}`);
  });

  test('why an encoder is refused is shown in a browser whose clock is wrong, and read aloud once', async () => {
    const made = await server.api.createStream({ name: 'refused' });
    await server.api.request('POST', `/stream/${made.id}/rotate-key`);
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    // The clock also runs too fast, so that texts that say how long ago something happened change soon.
    await page.addInitScript(
      '{ const { now } = Date; Date.now = () => now() + 7_200_000 + Math.round(5 * performance.now()); }',
    );
    // The page begins to receive events only after the refusal, and must not miss it.
    const refused = Promise.withResolvers<void>();
    await page.route('**/event/stream', (route) => refused.promise.then(() => route.continue()));
    await page.goto(url(`/streams/${made.id}/start`));
    await page.getByText('An attempt that fails is explained here').waitFor();
    await assert.rejects(RtmpClient.publish(server.rtmpPort, made.streamKey), RtmpRefusedError);
    refused.resolve();
    const spoken = page.locator('main').getByRole('status').getByText('The encoder uses a former key of this stream');
    await spoken.waitFor();
    await page.evaluate(`{
      globalThis.changes = [];
      const note = ({ target }) => {
        const live = (target.nodeType === 1 ? target : target.parentElement)?.closest('[role=status], [aria-live]');
        if (live) changes.push(live.textContent);
      };
      const what = { subtree: true, childList: true, characterData: true };
      new MutationObserver((all) => all.forEach(note)).observe(document.getElementById('content'), what);
    }`);
    const seen = new Set<string>();
    await waitFor(async () => seen.add(await page.locator('.below time').innerText()).size > 3, {
      what: 'texts that change',
    });
    assert.deepEqual(await page.evaluate('changes'), []);
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });

  test('a request that gets no answer stops neither the page nor a dialog for ever', async () => {
    const made = await server.api.createStream({ name: 'kept waiting', profiles: [] });
    await using watched = await openSignedIn('/');
    const { page } = watched;
    // Requests for tokens and for changes time out sooner, and data is read again sooner.
    await page.addInitScript(`{
      const { timeout } = AbortSignal;
      AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms === 15_000 || ms === 60_000 ? 1500 : ms);
    }`);
    await changeTimers(page, { 15000: 500 });
    await page.goto(url(`/streams/${made.id}`));
    await page.locator('.liveness.live').waitFor();
    const lost = { tokens: 0, changes: 0 };
    await page.route('**/dashboard/session/token', (route) => (++lost.tokens === 1 ? undefined : route.continue()));
    let isRefused = false;
    const refusal = { errors: ['The token has ended.'], code: 'unauthenticated', requestId: '1' };
    await page.route(`**/api/stream/${made.id}/info`, async (route) => {
      if (isRefused) await route.continue();
      else await route.fulfill({ status: 401, json: refusal });
      isRefused = true;
    });
    await server.api.request('PATCH', `/stream/${made.id}`, { name: 'waited for' });
    await waitFor(() => lost.tokens >= 1, { what: 'a request for a token' });
    await page.getByRole('heading', { name: 'waited for' }).waitFor();

    await page.route(`**/api/stream/${made.id}`, (route) => {
      if (route.request().method() === 'PATCH') lost.changes += 1;
      else return route.continue();
    });
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit the name' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('typed');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('The server cannot be reached').waitFor();
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'typed');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(lost.changes, 1);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });

  test('a user who has too many event streams open sees what happens nevertheless, and gets events when one is closed', async () => {
    const created = await server.api.request('POST', '/user', { name: 'busy', quotas: { eventStreams: 1 } });
    const { id: userId } = (await created.json()) as { id: string };
    const token = await server.api.request('POST', '/api-token', { name: 'key', userId });
    const { key } = (await token.json()) as { key: string };
    const theirs = new ApiClient(`${server.url}/api`, key);
    const { id } = await theirs.createStream({ name: 'the busy show', profiles: [] });
    const hold = async () => {
      const closing = new AbortController();
      const headers = { authorization: `Bearer ${key}` };
      // The page may have been quicker to open the only one.
      const ask = async () => {
        const response = await fetch(`${server.url}/api/event/stream`, { headers, signal: closing.signal });
        return response.ok && response;
      };
      const { body } = await waitFor(ask, { what: 'an event stream' });
      // It would be closed as soon as nobody reads it.
      body!.pipeTo(new WritableStream()).catch(() => {});
      return closing;
    };
    const state = (page: Page, word: string) => page.locator('.liveness').getByText(word).waitFor();

    const first = await hold();
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await signInWithKey(page, key);
    await page.goto(url(`/streams/${id}`));
    await state(page, 'Reconnecting…');
    await page.getByText('What happened').waitFor();
    await theirs.request('PATCH', `/stream/${id}`, { record: true });
    first.abort();
    await state(page, 'Live');
    await page.getByText('Changed: record.').waitFor();

    await page.goto('about:blank');
    const second = await hold();
    await changeTimers(page, { 15000: 500 });
    await page.goto(url(`/streams/${id}`));
    await state(page, 'Reconnecting…');
    await theirs.request('PATCH', `/stream/${id}`, { name: 'the busier show' });
    await page.getByText('Changed: name.').waitFor();
    second.abort();
  });

  test('a page whose stream is deleted or whose server is away says so', async () => {
    const made = await server.api.createStream({ name: 'soon gone', profiles: [] });
    const access = { rules: [{ resources: ['stream', 'stream/:id', 'stream/:id/*', 'session', 'session/:id'] }] };
    const token = await server.api.request('POST', '/api-token', { name: 'for streams', access });
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    // Everything is read again ten times as often.
    await page.addInitScript(`{
      const { setInterval } = globalThis;
      globalThis.setInterval = (run, ms) => setInterval(run, ms < 60_000 ? ms / 10 : ms);
    }`);
    await signInWithKey(page, ((await token.json()) as { key: string }).key);
    await page.getByText('Nobody is live').waitFor();
    await page.route('**/api/**', (route) => route.fulfill({ status: 503, body: 'away' }));
    await page.getByText('The server answered 503.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByText('The server answered 503.').waitFor({ state: 'detached' });

    const asked = { streams: 0, attempts: 0 };
    page.on('request', (request) => {
      if (request.url().endsWith(`/api/stream/${made.id}`)) asked.streams += 1;
      else if (request.url().endsWith('/api/attempt')) asked.attempts += 1;
    });
    await page.goto(url(`/streams/${made.id}/start`));
    await waitFor(() => asked.streams >= 3, { what: 'three requests for the stream' });
    await page.getByText('This API key may not GET /event').waitFor();
    assert.equal(asked.attempts, 1, 'a request that the rules forbid is not repeated');
    await server.api.request('DELETE', `/stream/${made.id}`);
    await page.getByText('You have no stream with this id').waitFor();
    // Another server may know it, so it is looked for again, but only once a minute.
    await changeTimers(page, { 60000: 100 });
    asked.streams = 0;
    await page.reload();
    await page.getByText('You have no stream with this id').waitFor();
    await waitFor(() => asked.streams >= 3, { what: 'three requests for a stream that is gone' });
  });

  test('a message stays while somebody points at it, and one that must be read stays until it is closed', async () => {
    const made = await server.api.createStream({ name: 'to be resumed', profiles: [] });
    await server.api.request('PATCH', `/stream/${made.id}`, { suspended: true });
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    await page.addInitScript(`{
      const { setInterval } = globalThis;
      navigator.clipboard.writeText = async () => {};
      globalThis.steps = 0;
      const counted = (run) => () => (globalThis.steps += 1, run());
      globalThis.setInterval = (run, ms) => (ms === ${TOAST_STEP_MS} ? setInterval(counted(run), 50) : setInterval(run, ms));
    }`);
    await page.goto(url(`/streams/${made.id}`));
    await page.getByRole('button', { name: 'Resume' }).click();
    const toast = (text: string) => page.locator('.toast', { hasText: text });
    const resumed = toast('The stream is resumed.');
    await resumed.hover();
    await page.getByRole('button', { name: 'Copy playback id' }).press('Enter');
    const copied = toast('Copied playback id.');
    await copied.waitFor();
    await waitFor(() => page.evaluate<boolean>('steps > 20'), { what: 'five times the time of a message' });
    assert.ok(await copied.isVisible());
    await page.mouse.move(5, 5);
    await copied.waitFor({ state: 'detached' });
    await resumed.getByRole('button', { name: 'Dismiss' }).press('Enter');
    await resumed.waitFor({ state: 'detached' });
    await page.locator('#content:focus').waitFor();

    await page.goto(url('/admin'));
    await page.getByRole('button', { name: 'Create a user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('ann o');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText("npx millrace sign-in --user 'ann o'").waitFor();
    await dialog.getByRole('button', { name: 'Copy command' }).waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(errors, []);
    await server.api.request('DELETE', `/stream/${made.id}`);
  });
});

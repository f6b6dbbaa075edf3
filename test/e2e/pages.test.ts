/**
 * The pages for people, in a real browser: they break no policy, fit a phone, follow the colors of the system, and the search finds.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import { startServer, type TestServer } from '../support/server.ts';

const PATHS = ['/', '/play', '/docs', '/docs/operations', '/docs/reference/settings', '/api/docs'];

suite('the pages for people', NEEDS_CHROMIUM, () => {
  const parts = new AsyncDisposableStack();
  let server: TestServer;
  let chromium: TestBrowser;

  before(async () => {
    server = parts.use(await startServer());
    chromium = parts.use(await launchChromium());
  });
  after(() => parts.disposeAsync());

  test('break no policy, load nothing from other hosts, are named after the service, and fit a phone', async () => {
    const look = async (path: string) => {
      await using watched = await chromium.newPage({ viewport: { width: 360, height: 740 }, isMobile: true });
      const { page, errors, failedRequests, hosts } = watched;
      await page.goto(server.url + path, { waitUntil: 'networkidle' });
      assert.match(await page.title(), /Millrace$/, path);
      assert.deepEqual([errors, failedRequests], [[], []], path);
      assert.deepEqual([...hosts], [new URL(server.url).host], path);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, `${path} is as wide as the phone`);
    };
    await Promise.all(PATHS.map(look));
  });

  test('are dark when the system is dark', async () => {
    const background = async (colorScheme: 'light' | 'dark') => {
      await using watched = await chromium.newPage({ colorScheme });
      await watched.page.goto(server.url);
      return await watched.page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    };
    assert.notEqual(await background('dark'), await background('light'));
  });

  test('a search leads to the most relevant section, with the keyboard only', async () => {
    await using watched = await chromium.newPage();
    const { page, errors } = watched;
    await page.goto(`${server.url}/docs/reference/settings`);
    await page.getByRole('searchbox').fill('Several servers');
    await page.locator('#search-results a').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/operations#several-servers');
    await page.getByRole('searchbox').fill('zzzz');
    await page.getByText('Nothing found.').waitFor();
    assert.deepEqual(errors, []);
  });

  test('a search whose index the server cannot deliver says so, and loads it again with the next letter', async () => {
    await using watched = await chromium.newPage();
    const { page, errors } = watched;
    await page.route('**/search.json', (route) => route.fulfill({ status: 503, json: { errors: ['busy'] } }));
    await page.goto(`${server.url}/docs`);
    const words = page.getByRole('searchbox');
    await words.fill('backup');
    await page.getByText('The index cannot be loaded.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await words.fill('backups');
    await page.locator('#search-results a').first().waitFor();
    assert.deepEqual(errors, []);
  });

  test('a mistyped address of a stream is explained, and leads to the right one', async () => {
    const stream = await server.api.createStream();
    await using watched = await chromium.newPage();
    const { page } = watched;
    await page.goto(`${server.url}/play/mistyped`);
    await page.getByRole('heading', { name: 'There is no such stream' }).waitFor();
    await page.getByLabel('Playback id of the stream').fill(` ${stream.playbackId} `);
    await page.getByRole('button', { name: 'Watch' }).click();
    await page.waitForURL(`**/play/${stream.playbackId}`);
    assert.equal(await page.title(), 'test · Millrace');
  });
});

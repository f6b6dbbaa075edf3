/**
 * The pages of the dashboard in a real browser: every page on a large screen and on a phone, light and dark, and what it may load and cost.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { NEEDS_CHROMIUM } from '../support/chromium.ts';
import { waitFor } from '../support/wait-for.ts';
import { DESK, goWithin, loadAxe, PHONE, SCRIPT, startDashboard, type TestDashboard } from './dashboard-browser.ts';

/** The budgets of the first page, and of everything without hls.js. */
const FIRST_PAGE_BYTES = 45_000;
const ALL_BYTES = 120_000;
const FIRST_PAGE_REQUESTS = 8;
/** The rules of axe whose result depends on the color scheme, and not on the elements of the page alone. */
const RULES_ABOUT_COLORS = ['color-contrast', 'link-in-text-block'];

suite('the pages of the dashboard', NEEDS_CHROMIUM, () => {
  const parts = new AsyncDisposableStack();
  let server: TestDashboard['server'];
  let chromium: TestDashboard['chromium'];
  let stream: TestDashboard['stream'];
  let webhookId: TestDashboard['webhookId'];
  let url: TestDashboard['url'];
  let openSignedIn: TestDashboard['openSignedIn'];

  before(async () => {
    ({ server, chromium, stream, webhookId, url, openSignedIn } = parts.use(await startDashboard()));
  });
  after(() => parts.disposeAsync());

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

  /** Asserts that a page is as wide as its window, in a window of this width. */
  async function assertNotTooWide(page: Page, width: number, path: string): Promise<void> {
    const { height } = page.viewportSize()!;
    await page.setViewportSize({ width, height });
    assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), width, `${path} at ${width} px`);
  }

  for (const [name, options, narrowOrWide] of [
    ['on a desk', DESK, 2560],
    ['on a phone', PHONE, 360],
  ] as const) {
    test(`every page ${name} can be used by everybody in light and in dark colors, breaks no policy, loads nothing from elsewhere and is not too wide`, async () => {
      await using watched = await openSignedIn('/', options);
      const { page, errors, hosts } = watched;
      const axe = await loadAxe(page);
      for (const [path, text] of PAGES()) {
        await page.emulateMedia({ colorScheme: 'light' });
        await goWithin(page, url(path));
        await page.getByText(text).first().waitFor();
        const inLight = await axe();
        await page.emulateMedia({ colorScheme: 'dark' });
        const inDark = await axe(RULES_ABOUT_COLORS);
        assert.deepEqual([...inLight.violations, ...inDark.violations], [], path);
        assert.ok(inDark.passes.includes('color-contrast'), `${path} has text in dark colors`);
        for (const width of [narrowOrWide, options.viewport.width]) await assertNotTooWide(page, width, path);
      }
      assert.deepEqual(errors, []);
      assert.deepEqual([...hosts], [new URL(server.url).host]);
    });
  }

  test('no page of a stream is wider than its window, from 360 to 2,560 px, with German and Arabic names', async () => {
    const german = await server.api.createStream({
      name: 'Donaudampfschifffahrtsgesellschaftskapitänsversammlungsübertragung 2026, zweite Wiederholung',
    });
    const arabic = await server.api.createStream({ name: 'بث مباشر من القاهرة '.repeat(8) });
    await using watched = await openSignedIn('/');
    const { page, errors } = watched;
    for (const { id, name } of [german, arabic]) {
      for (const path of [`/streams/${id}`, `/streams/${id}/start`, `/dock/${id}`]) {
        await page.goto(url(path));
        await page.locator('main h1').filter({ hasText: name.trim() }).waitFor();
        for (const width of [360, 2560]) await assertNotTooWide(page, width, path);
      }
    }
    assert.deepEqual(errors, []);
    for (const { id } of [german, arabic]) await server.api.request('DELETE', `/stream/${id}`);
  });

  test('script in a name is shown as text, in every list and page', async () => {
    await using watched = await openSignedIn('/streams');
    const { page, errors } = watched;
    await page.getByRole('link', { name: SCRIPT }).click();
    await page.getByRole('heading', { name: SCRIPT }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('onerror');
    await page.getByRole('option', { name: SCRIPT }).waitFor();
    // Enter opens what was found for the text that is there, and not while a word is composed.
    const search = page.getByRole('combobox');
    await search.dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    await search.fill('evening');
    await search.press('Enter');
    await page.getByRole('option', { name: 'the evening show' }).waitFor();
    assert.equal(await page.title(), `${SCRIPT} · Millrace`);
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
    // A request that is repeated after a while counts once.
    const requests = new Set<string>();
    page.on('request', (request) => requests.add(request.url()));
    await page.goto(url('/'));
    await page.getByText('Nobody is live').waitFor();
    const sizes = new Map<string, number>();
    for (const each of [...requests].filter((request) => request.endsWith('.js'))) {
      const answer = await fetch(each, { headers: { 'accept-encoding': 'gzip' } });
      sizes.set(each, Number(answer.headers.get('content-length')));
      await answer.body?.cancel();
    }
    const first = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(first > 0 && first <= FIRST_PAGE_BYTES, `${first} bytes of script`);
    assert.ok(requests.size <= FIRST_PAGE_REQUESTS, [...requests].join('\n'));
  });

  test('all scripts together stay within their budget', async () => {
    const { bundleFiles } = await import('#dashboard/bundler/bundle-files.ts');
    const { gzipSync } = await import('node:zlib');
    const scripts = [...(await bundleFiles())].filter(([name]) => name.endsWith('.js'));
    const all = scripts.reduce((sum, [, bytes]) => sum + gzipSync(bytes, { level: 9 }).length, 0);
    assert.ok(all <= ALL_BYTES, `${all} bytes`);
  });

  test('the choice of the keyboard in the search stays in view', async () => {
    await using watched = await openSignedIn('/', { viewport: { width: 640, height: 400 } });
    const { page } = watched;
    await page.getByRole('button', { name: 'Search' }).click();
    const options = page.getByRole('option');
    await options.first().waitFor();
    const last = (await options.count()) - 1;
    const isInView = (index: number) => `(() => {
      const [list, option] = ['palette-hits', 'hit-${index}'].map((id) => document.getElementById(id).getBoundingClientRect());
      return option.top >= list.top - 1 && option.bottom <= list.bottom + 1;
    })()`;
    assert.equal(await page.evaluate(isInView(last)), false, 'the list is longer than the window');
    for (let index = 1; index <= last; index += 1) await page.keyboard.press('ArrowDown');
    await page.locator(`#hit-${last}[aria-selected=true]`).waitFor();
    assert.equal(await page.evaluate(isInView(last)), true);
    for (let index = 1; index <= last; index += 1) await page.keyboard.press('ArrowUp');
    await page.locator('#hit-0[aria-selected=true]').waitFor();
    assert.equal(await page.evaluate(isInView(0)), true);
  });

  test('on a phone, the menu closes by whatever leads somewhere, and nothing that has the focus is covered', async () => {
    await using watched = await openSignedIn('/streams?show=live', PHONE);
    const { page, errors } = watched;
    const menu = page.locator('.nav-open');
    const openMenu = async () => {
      await page.getByRole('button', { name: 'Open the menu' }).click();
      await menu.waitFor();
    };
    // The path stays the same.
    await openMenu();
    await page.getByRole('link', { name: 'Streams', exact: true }).click();
    await menu.waitFor({ state: 'detached' });
    await page.locator('#content:focus').waitFor();
    await openMenu();
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'detached' });
    await page.locator('button:focus[aria-label="Open the menu"]').waitFor();
    await openMenu();
    await page.setViewportSize(DESK.viewport);
    await menu.waitFor({ state: 'detached' });
    await page.setViewportSize(PHONE.viewport);

    const focused = `(() => {
      const own = document.activeElement;
      const { left, top, width, height } = own.getBoundingClientRect();
      const over = document.elementFromPoint(left + width / 2, top + height / 2);
      return { name: own.outerHTML.slice(0, 200), isCovered: own !== document.body && !own.contains(over), isPage: own.closest('main') !== null };
    })()`;
    interface Focused {
      readonly name: string;
      readonly isCovered: boolean;
      readonly isPage: boolean;
    }
    await openMenu();
    const inMenu = await page.locator('.sidebar :is(a, button)').count();
    for (let press = 0; press < inMenu + 3; press += 1) {
      await page.keyboard.press('Tab');
      const { isPage, name } = await page.evaluate<Focused>(focused);
      assert.ok(!isPage, `behind the menu: ${name}`);
    }
    await page.keyboard.press('Escape');
    await page.goto(url(`/streams/${stream.id}`));
    await page.getByText('What happened').waitFor();
    await page.locator('main :is(a, button)').last().focus();
    for (let isPage = true; isPage; ) {
      const now = await page.evaluate<Focused>(focused);
      if (now.isPage) assert.ok(!now.isCovered, `covered: ${now.name}`);
      isPage = now.isPage;
      await page.keyboard.press('Shift+Tab');
    }
    assert.deepEqual(errors, []);
  });

  test('each page has the title of what it shows, and going back and forward moves the focus to the page', async () => {
    await using watched = await openSignedIn('/streams');
    const { page, errors } = watched;
    const isOn = async (title: string) => {
      await page.locator('#content:focus').waitFor();
      await waitFor(async () => (await page.title()) === `${title} · Millrace`, { what: `the title ${title}` });
    };
    await page.getByRole('link', { name: 'the evening show' }).click();
    await isOn('the evening show');
    const link = page.locator('main a.back');
    for (const [go, title] of [
      ['goBack', 'Streams'],
      ['goForward', 'the evening show'],
    ] as const) {
      await page.locator('main a').first().focus();
      await page[go]();
      await isOn(title);
    }
    await link.click();
    await isOn('Streams');
    assert.deepEqual(errors, []);
  });

  test('empty fields and the chosen tab can be told from what is around them', async () => {
    await using watched = await openSignedIn('/streams');
    const { page } = watched;
    await page.getByRole('searchbox').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const found = await page.evaluate<{ field: number; tab: number; isOnlyChosen: boolean }>(`(() => {
        const luminance = (color) => {
          const [red, green, blue] = color.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
            .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        const contrast = (selector) => {
          const { borderTopColor, backgroundColor } = getComputedStyle(document.querySelector(selector));
          const [dark, light] = [borderTopColor, backgroundColor].map(luminance).sort((one, other) => one - other);
          return (light + 0.05) / (dark + 0.05);
        };
        const other = getComputedStyle(document.querySelector('.tabs [aria-pressed=false]')).borderTopColor;
        return {
          field: contrast('[type=search]'),
          tab: contrast('.tabs [aria-pressed=true]'),
          isOnlyChosen: other === 'rgba(0, 0, 0, 0)',
        };
      })()`);
      assert.ok(found.field >= 3 && found.tab >= 3 && found.isOnlyChosen, `${colorScheme}: ${JSON.stringify(found)}`);
    }
  });

  test('on an iPhone, no field is so small that the page is enlarged, and the wall offers no full screen', async () => {
    await using watched = await openSignedIn('/streams/new', PHONE);
    const { page } = watched;
    await page.getByLabel('Name', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox').waitFor();
    const sizes = `[...document.querySelectorAll('input:not([type=radio])')].map((each) => parseFloat(getComputedStyle(each).fontSize))`;
    const found = await page.evaluate<number[]>(sizes);
    assert.ok(found.length === 2 && found.every((size) => size >= 16), found.join(' px, '));
    await page.addInitScript(`Object.defineProperty(document, 'fullscreenEnabled', { value: undefined })`);
    await page.setViewportSize({ width: 844, height: 390 });
    await page.goto(url('/wall'));
    await page.getByText('Nobody is live').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Full screen' }).count(), 0);
  });
});

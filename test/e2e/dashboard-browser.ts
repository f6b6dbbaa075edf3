/**
 * A server with a few things on it, and a browser in which somebody is signed in to its dashboard.
 */
import { AxeBuilder } from '@axe-core/playwright';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { CreatedStream } from '../support/api-client.ts';
import { changeTimers, launchChromium, type TestBrowser, type WatchedPage } from '../support/chromium.ts';
import { CHEAP, startServer, type TestServer } from '../support/server.ts';

/** The window of a desktop. */
export const DESK = { viewport: { width: 1280, height: 800 } };
/** The window of a phone. */
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
/** The steps in which messages of the dashboard go by themselves, see `toast.tsx`. */
export const TOAST_STEP_MS = 1500;
/** The steps in tests, whose process may stand still for seconds. No other timer has this length, so a test can find and change these timers. */
const LONG_TOAST_STEP_MS = 15_001;
/** Longer than any wait for media. */
const HOLD_MS = 60_000;
/** Text that would run as a script in a page that inserted it as HTML. It is the name of a stream. */
export const SCRIPT = `"><img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;

/**
 * Axe on a page. Only violations are described in full, which saves most of its time. It joins what it found in the page itself: another page
 * is needed only for frames of other origins, and nothing here has frames.
 */
export const axeOn = (page: Page): AxeBuilder =>
  new AxeBuilder({ page: page as never }).options({ resultTypes: ['violations'] }).setLegacyMode();

/** What axe says about a page. */
export interface Accessibility {
  /** The broken rules, each with the elements that break it. */
  readonly violations: readonly string[];
  /** The ids of the rules that some element obeys. */
  readonly passes: readonly string[];
}

/**
 * Loads axe into a page, and returns a function that runs it there: all rules, or those with the given ids. {@link axeOn} loads it again each
 * time, which takes longer than most of the runs. Axe is gone when the page is loaded again. It is run when no color changes any more: where
 * motion is reduced, transitions last for a frame, and those of inherited colors follow each other from element to element.
 */
export async function loadAxe(page: Page): Promise<(rules?: readonly string[]) => Promise<Accessibility>> {
  await axeOn(page).withRules('document-title').analyze();
  return (values) => {
    const options = { resultTypes: ['violations'], ...(values && { runOnly: { type: 'rule', values } }) };
    return page.evaluate<Accessibility>(`(async () => {
      while (document.getAnimations().some((each) => each instanceof CSSTransition)) await new Promise(requestAnimationFrame);
      return axe.run(${JSON.stringify(options)});
    })().then(({ violations, passes }) => ({
      violations: violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')),
      passes: passes.map(({ id }) => id),
    }))`);
  };
}

/** Goes to an address of the dashboard without loading the page again, as a link in it does. */
export async function goWithin(page: Page, href: string): Promise<void> {
  await page.evaluate(`(() => {
    history.pushState(null, '', ${JSON.stringify(href)});
    dispatchEvent(new PopStateEvent('popstate'));
  })()`);
}

/** The dashboard of a server without live streams. */
export interface TestDashboard extends AsyncDisposable {
  readonly server: TestServer;
  readonly chromium: Pick<TestBrowser, 'newPage'>;
  /** A stream named "the evening show". */
  readonly stream: CreatedStream;
  /** A webhook named "shop". */
  readonly webhookId: string;
  /** The address of a page of the dashboard. */
  readonly url: (path: string) => string;
  /** Opens a page. The admin is signed in, in one browser session for all pages that are opened so. */
  readonly openSignedIn: (path: string, options?: BrowserContextOptions) => Promise<WatchedPage>;
  /** Signs in on the page that asks for a key, in a browser session of its own. */
  readonly signInWithKey: (page: Page, key: string) => Promise<void>;
}

/** Starts the server and the browser. */
export async function startDashboard(): Promise<TestDashboard> {
  await using parts = new AsyncDisposableStack();
  const settings = { ...CHEAP, MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' };
  const server = parts.use(await startServer({ settings, longestHoldMs: HOLD_MS }));
  const browser = parts.use(await launchChromium());
  const chromium = {
    newPage: async (options?: BrowserContextOptions) => {
      // Without animations, the page is drawn again only when something changes.
      const watched = await browser.newPage({ reducedMotion: 'reduce', ...options });
      await changeTimers(watched.page, { [TOAST_STEP_MS]: LONG_TOAST_STEP_MS });
      return watched;
    },
  };
  const stream = await server.api.createStream({ name: 'the evening show' });
  await server.api.createStream({ name: SCRIPT });
  const webhook = await server.api.request('POST', '/webhook', {
    name: 'shop',
    url: 'https://example.com/hook',
    events: ['stream.started'],
  });
  const { id: webhookId } = (await webhook.json()) as { id: string };
  const url = (path: string) => `${server.url}/dashboard${path === '/' ? '' : path}`;

  async function signInWithKey(page: Page, key: string): Promise<void> {
    await page.goto(url('/'));
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('main#content[tabindex]').waitFor();
  }

  await using first = await chromium.newPage();
  await signInWithKey(first.page, server.apiKey);
  const storageState = await first.page.context().storageState();

  const running = parts.move();
  return {
    server,
    chromium,
    stream,
    webhookId,
    url,
    signInWithKey,
    openSignedIn: async (path, options = DESK) => {
      const watched = await chromium.newPage({ storageState, ...options });
      await watched.page.goto(url(path));
      return watched;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

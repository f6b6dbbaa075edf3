/**
 * A real browser in which the admin is signed in to the dashboard of a measured server.
 */
import type { BrowserContextOptions } from 'playwright-core';
import { childrenOf } from '../../test/support/children.ts';
import { launchChromium, type WatchedPage } from '../../test/support/chromium.ts';
import type { TestServer } from '../../test/support/server.ts';
import { treeCpuMs } from './process-usage.ts';

/** The heading of a page that shows its data. The sign-in page has another one. */
export const SIGNED_IN_PAGE = 'main#content[tabindex] h1';

const DESK = { viewport: { width: 1280, height: 800 } };

/** The browser. Disposing it closes every page. */
export interface DashboardBrowser extends AsyncDisposable {
  /** Opens an empty page that shares nothing with others but being signed in: its cache is empty. */
  newPage(options?: BrowserContextOptions): Promise<WatchedPage>;
  /** The address of a path below `/dashboard`. */
  url(path: string): string;
  /** CPU time of all processes of the browser since it started, in milliseconds. */
  cpuMs(): number;
}

/**
 * Starts the browser, signs in, and waits until the first page is shown. From then on the server has its files ready.
 * @param options.origin where the dashboard is asked for, if that is not the server itself
 */
export async function openDashboard(
  server: TestServer,
  { origin = server.url }: { readonly origin?: string } = {},
): Promise<DashboardBrowser> {
  await using parts = new AsyncDisposableStack();
  const before = new Set(childrenOf(process.pid).map(({ pid }) => pid));
  const chromium = parts.use(await launchChromium());
  const pids = childrenOf(process.pid).flatMap(({ pid }) => (before.has(pid) ? [] : [pid]));
  const url = (path: string) => `${origin}/dashboard${path === '/' ? '' : path}`;
  let storageState: Exclude<BrowserContextOptions['storageState'], undefined>;
  {
    await using watched = await chromium.newPage(DESK);
    const { page } = watched;
    await page.goto(url('/'));
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator(SIGNED_IN_PAGE).waitFor();
    storageState = await page.context().storageState();
  }
  const running = parts.move();
  return {
    newPage: (options) => chromium.newPage({ ...DESK, storageState, ...options }),
    url,
    cpuMs: () => pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/**
 * A real browser for tests: Debian's Chromium, driven by playwright-core. It plays H.264 and AAC.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { needs } from './tools.ts';

/** The same Chromium without windows: a page costs a fourth of the CPU time of one in a window that nobody sees. Preferred where installed. */
const SHELL = '/usr/bin/chromium-headless-shell';
const EXECUTABLE = existsSync(SHELL) ? SHELL : '/usr/bin/chromium';
/** The longest wait for anything on a page. Nothing takes so long, but a shared machine may stand still for seconds. */
const PATIENCE_MS = 60_000;
const ARGUMENTS = [
  '--no-sandbox', // CI runs as root
  '--headless=new',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Options that skip a test, with the reason, where Chromium is not installed. Under `CI` the test runs and fails instead. */
export const NEEDS_CHROMIUM = needs(EXECUTABLE);

/** A page in a context of its own, and the errors that occurred on it. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /**
   * Errors thrown, logged or raised against the content security policy. Chromium logs a network error for every answer
   * of 400 and above; those are not in here but in {@link failedRequests}.
   */
  readonly errors: readonly string[];
  /** Status and URL of every answer of 400 and above. */
  readonly failedRequests: readonly string[];
  /** The hosts to which the page sent requests. */
  readonly hosts: ReadonlySet<string>;
}

/** One browser for a test file. */
export interface TestBrowser extends AsyncDisposable {
  /** Makes an empty page. The options are those of Playwright, such as a viewport. */
  newPage(options?: BrowserContextOptions): Promise<WatchedPage>;
}

/**
 * Starts the browser.
 * @param options.autoplay `allowed`: audio may start by itself, as on a site that the user visits often; `muted`: only muted video may, as on
 *   a site that the user has never visited
 */
export async function launchChromium({
  autoplay = 'allowed',
}: {
  autoplay?: 'allowed' | 'muted';
} = {}): Promise<TestBrowser> {
  const policy = autoplay === 'allowed' ? 'no-user-gesture-required' : 'document-user-activation-required';
  const browser = await chromium.launch({
    executablePath: EXECUTABLE,
    args: [...ARGUMENTS, `--autoplay-policy=${policy}`],
    timeout: 120_000,
  });
  return {
    newPage: (options) => openPage(browser, options),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/**
 * Changes the durations of timers that a page starts with `setTimeout` and `setInterval`, from its next load on.
 * @param durations the new duration by the one that the page asks for, both in milliseconds. All others stay as they are
 */
export async function changeTimers(page: Page, durations: Readonly<Record<number, number>>): Promise<void> {
  await page.addInitScript(`for (const name of ['setTimeout', 'setInterval']) {
    const start = globalThis[name];
    const durations = ${JSON.stringify(durations)};
    globalThis[name] = (run, ms, ...more) => start(run, durations[ms] ?? ms, ...more);
  }`);
}

async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const errors: string[] = [];
  const failedRequests: string[] = [];
  const hosts = new Set<string>();
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // A violated policy is logged as an error too.
    const isNetwork = message.text().startsWith('Failed to load resource:');
    if (message.type() === 'error' && !isNetwork) errors.push(message.text());
  });
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  page.on('response', (response) => {
    if (response.status() >= 400) failedRequests.push(`${response.status()} ${response.url()}`);
  });
  return { page, errors, failedRequests, hosts, [Symbol.asyncDispose]: () => context.close() };
}

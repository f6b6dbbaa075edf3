/**
 * What does the list of streams cost the browser when there are 100,000 of them and somebody goes through it for long?
 */
import type { Page } from 'playwright-core';
import type { User } from '#domain/user.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { startServerProcess } from '../test/support/server.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { openDashboard } from './support/dashboard.ts';
import { fillDataDir } from './support/many-streams.ts';
import { traceTasks } from './support/page-tasks.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const STREAMS = 100_000;
/** How many times the next page is asked for. */
const STEPS = 200;
/** How many times the page before is asked for afterwards. */
const STEPS_BACK = 20;
/** A turn of the mouse wheel, in pixels, and how many follow each page. */
const WHEEL = { px: 400, times: 8 };
const MB = 1e6;

/** What is looked at after each step. */
interface Seen {
  readonly rows: number;
  /** Where the last row leads. */
  readonly last: string;
}

/** Answers the question above by numbers of rows, memory and pauses. */
export async function dashboardLongList(): Promise<readonly Answer[]> {
  await using parts = new AsyncDisposableStack();
  const dataDir = parts.use(await temporaryFolder()).path;
  const apiKey = await prepare(dataDir);
  const server = parts.use(await startServerProcess({ settings: MEASURED, dataDir, apiKey }));
  const dashboard = parts.use(await openDashboard(server));
  await using watched = await dashboard.newPage();
  const { page } = watched;
  await page.goto(dashboard.url('/streams'));
  await page.locator('tbody tr').first().waitFor();
  await page.evaluate(HELPERS);
  const longestTask = await traceTasks(page);
  const seen: Seen[] = [];
  const step = async (button: string, turn: number) => {
    await page.getByRole('button', { name: button }).click();
    await page.locator('.card button:disabled').waitFor({ state: 'detached' });
    for (let turns = 0; turns < WHEEL.times; turns += 1) {
      await page.mouse.wheel(0, turn);
      await page.evaluate('nextFrame()');
    }
    seen.push(await page.evaluate<Seen>('look()'));
  };
  await page.mouse.move(600, 400);
  for (let count = 0; count < STEPS; count += 1) await step('Show more', WHEEL.px);
  for (let count = 0; count < STEPS_BACK; count += 1) await step('Show previous', -WHEEL.px);
  const longestMs = await longestTask();
  const pages = new Set(seen.map(({ last }) => last)).size;
  if (pages < STEPS) throw new Error(`only ${pages} of ${STEPS} pages were shown`);
  const what = `${STREAMS.toLocaleString('en')} streams, ${STEPS} pages of the list`;
  return [
    atMost(`${what}: rows in the page at most`, Math.max(...seen.map(({ rows }) => rows)), 300, 'rows'),
    atMost(`${what}: heap of the page after a collection`, (await heapBytes(page)) / MB, 60, 'MB'),
    atMost(`${what}: longest task of the page`, longestMs, 50, 'ms'),
  ];
}

/** Fills the data folder of a server that has stopped. @returns the API key of the owner of its streams */
async function prepare(dataDir: string): Promise<string> {
  await using server = await startServerProcess({ settings: MEASURED, dataDir });
  await server.stop();
  const user = await ownerIn(dataDir);
  fillDataDir(dataDir, user, STREAMS);
  return server.apiKey;
}

async function ownerIn(dataDir: string): Promise<User> {
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  return (await store.users.byName('admin'))!;
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

/** Runs in the page, so it is text. */
const HELPERS = `
  globalThis.nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  globalThis.look = () => {
    const rows = [...document.querySelectorAll('tbody tr')];
    return { rows: rows.length, last: rows.at(-1).querySelector('a.name').href };
  };`;

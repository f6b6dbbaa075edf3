/**
 * How long does the first page of the dashboard take until it can be used, with nothing of it in the browser's cache: on this machine, and on a
 * slow computer with a slow connection?
 */
import type { CDPSession } from 'playwright-core';
import { startServerProcess } from '../test/support/server.ts';
import { type DashboardBrowser, openDashboard, SIGNED_IN_PAGE } from './support/dashboard.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { median } from './support/statistics.ts';

const ROUNDS = 9;
/** The number of streams: as many as the page requests at once. */
const STREAMS = 100;
const MOST_REQUESTS = 8;

/** The computer and the connection with which a page is opened. */
interface Place {
  readonly name: string;
  readonly limitMs: number;
  readonly slow: boolean;
}

const PLACES: readonly Place[] = [
  { name: 'on this machine', limitMs: 400, slow: false },
  { name: 'at 40 ms, 10 Mbit/s and a quarter of the CPU', limitMs: 1500, slow: true },
];

/** Answers the question above, and how many requests that takes. */
export async function dashboardFirstPageMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  for (let made = 0; made < STREAMS; made += 1) await server.api.createStream({ name: `stream ${made}` });
  await using dashboard = await openDashboard(server);
  const opened = PLACES.map((): Opened[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { slow }] of PLACES.entries()) opened[index]!.push(await openOnce(dashboard, slow));
  }
  return [
    ...PLACES.map(({ name, limitMs }, index) => ({
      ...atMost(
        `first page of the dashboard until it can be used, ${name}, median of ${ROUNDS}`,
        median(opened[index]!.map(({ usableMs }) => usableMs)),
        limitMs,
        'ms',
      ),
      details: opened[index]!.map(({ usableMs }) => Math.round(usableMs)).join(', '),
    })),
    atMost(
      'requests of the first page until it can be used',
      Math.max(...opened.flat().map(({ requests }) => requests)),
      MOST_REQUESTS,
      'requests',
    ),
  ];
}

/** The measurement of one opening of the page. */
interface Opened {
  /** From the navigation until the browser has painted the page with its data and is idle. */
  readonly usableMs: number;
  readonly requests: number;
}

async function openOnce(dashboard: DashboardBrowser, slow: boolean): Promise<Opened> {
  await using watched = await dashboard.newPage();
  const { page } = watched;
  // The process that will show the page exists from here on.
  await page.goto(new URL('/healthz', dashboard.url('/')).href);
  if (slow) await slowDown(await page.context().newCDPSession(page));
  await page.addInitScript(NOTE_WHEN_USABLE);
  let requests = 0;
  page.on('request', () => {
    requests += 1;
  });
  await page.goto(dashboard.url('/'), { waitUntil: 'commit' });
  return { usableMs: await page.evaluate<number>('usableMs'), requests };
}

async function slowDown(session: CDPSession): Promise<void> {
  const bytesPerS = 10_000_000 / 8;
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 40,
    downloadThroughput: bytesPerS,
    uploadThroughput: bytesPerS,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
}

/** Runs in the page, so it is text. The page can be used when its heading and its button were painted and nothing else is left to do. */
const NOTE_WHEN_USABLE = `
  globalThis.usableMs = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector('${SIGNED_IN_PAGE}')) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    });
    observer.observe(document, { subtree: true, childList: true });
  });`;

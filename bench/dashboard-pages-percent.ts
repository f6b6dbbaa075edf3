/**
 * How much of a core does the server need for 200 open pages of the dashboard while nothing happens but live streams that go on?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request } from 'playwright-core';
import { startServerProcess } from '../test/support/server.ts';
import type { DashboardPagesJob, DashboardPagesReport } from './peers/dashboard-pages.ts';
import { type DashboardBrowser, openDashboard } from './support/dashboard.ts';
import { createStreams, publishTo } from './support/load.ts';
import { startPeer } from './support/peer-process.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMost, type BenchOptions, InvalidRunError } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const PAGES = 200;
const STREAMS = 100;
/** The number of streams that are live. */
const LIVE = 20;
const SHAPE = { fps: 10, gopS: 2, bitrateBps: 200_000 };
/** The requests of a real page are recorded for this long, in which it sends each of them several times. */
const RECORDED_MS = 30_000;
const SETTLING_MS = 5000;
const LIMIT_PERCENT = 5;

/** Answers the question above for the home page. */
export async function dashboardPagesPercent({ long }: BenchOptions): Promise<readonly Answer[]> {
  const measuredMs = long ? 300_000 : 60_000;
  await using server = await startServerProcess({ settings: { ...MEASURED, MILLRACE_MAX_HTTP_CONNECTIONS: '3000' } });
  const streams = await createStreams(server.api, STREAMS, (index) => ({ name: `camera ${index}` }));
  await using _load = await publishTo(server.rtmpPort, streams.slice(0, LIVE), SHAPE);
  const asked = await learn(server);
  const idleMs = await cpuMsDuring(server.pid, () => sleep(measuredMs));
  const job: DashboardPagesJob = { port: server.httpPort, pages: PAGES, periodMs: RECORDED_MS, ...asked };
  await using pages = await startPeer('dashboard-pages.ts', job);
  await sleep(SETTLING_MS);
  const before = (await pages.ask('report')) as DashboardPagesReport;
  const busyMs = await cpuMsDuring(server.pid, () => sleep(measuredMs));
  const after = (await pages.ask('report')) as DashboardPagesReport;
  if (after.failed > 0) throw new Error(`${after.failed} of ${after.answered} requests failed`);
  if (after.late > before.late) throw new InvalidRunError('the load could not keep up');
  const perPage = ((after.answered - before.answered) / PAGES) * (60_000 / measuredMs);
  return [
    {
      ...atMost(
        `server with ${PAGES} home pages open, ${LIVE} of ${STREAMS} streams live, above that without pages`,
        ((busyMs - idleMs) / measuredMs) * 100,
        LIMIT_PERCENT,
        '% of a core',
      ),
      details: `${perPage.toFixed(1)} requests a page and minute, and its event stream; without pages ${((idleMs / measuredMs) * 100).toFixed(1)} % of a core`,
    },
  ];
}

/** What a real home page asks for, once it is open. */
async function learn(server: Parameters<typeof openDashboard>[0]) {
  await using dashboard = await openDashboard(server);
  return await askedBy(dashboard, '/');
}

async function askedBy(
  dashboard: DashboardBrowser,
  path: string,
): Promise<Pick<DashboardPagesJob, 'authorization' | 'eventStream' | 'requests'>> {
  await using watched = await dashboard.newPage();
  const { page } = watched;
  const eventStream = page.waitForRequest((request) => request.url().endsWith('/event/stream'));
  await page.goto(dashboard.url(path));
  const opened = await eventStream;
  await page.locator('.liveness.live').waitFor();
  await sleep(SETTLING_MS);
  const requests: { path: string; atMs: number }[] = [];
  const start = performance.now();
  page.on('request', (request) => {
    if (request.method() === 'GET') requests.push({ path: pathOf(request), atMs: performance.now() - start });
  });
  await sleep(RECORDED_MS);
  return { authorization: opened.headers().authorization!, eventStream: pathOf(opened), requests };
}

const pathOf = (request: Request): string => {
  const { pathname, search } = new URL(request.url());
  return pathname + search;
};

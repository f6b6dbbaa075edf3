/**
 * How much of a core does a browser need to show the wall with 100 live streams?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server.ts';
import { openDashboard } from './support/dashboard.ts';
import { createStreams, publishTo } from './support/load.ts';
import { type Answer, atMost, type BenchOptions } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { startThumbnailProxy } from './support/thumbnail-proxy.ts';

const STREAMS = 100;
/** A low bitrate, because the browser, which is measured, receives none of this media. */
const SHAPE = { fps: 5, gopS: 2, bitrateBps: 100_000 };
/** The page requests thumbnails only of streams with profiles. These streams are not transcoded, and the proxy answers with thumbnails. */
const PROFILE = { name: '360p', bitrate: 500_000, fps: 0, width: 640, height: 360 };
const SCREEN = { width: 1920, height: 1080 };
/** The time before the measurement, in which everything that happens only once is done. */
const SETTLING_MS = 15_000;
const LIMIT_PERCENT = 15;

/** Answers the question above for all processes of the browser together. */
export async function dashboardWallPercent({ long }: BenchOptions): Promise<readonly Answer[]> {
  const measuredMs = long ? 600_000 : 60_000;
  await using server = await startServerProcess({ settings: { ...MEASURED, MILLRACE_TRANSCODE_MAX: '0' } });
  await using proxy = await startThumbnailProxy(server.httpPort);
  await using dashboard = await openDashboard(server, { origin: proxy.url });
  const fieldsOf = (index: number) => ({ name: `camera ${index}`, profiles: [PROFILE] });
  const streams = await createStreams(server.api, STREAMS, fieldsOf);
  await using _load = await publishTo(server.rtmpPort, streams, SHAPE);
  await using watched = await dashboard.newPage({ viewport: SCREEN });
  const { page } = watched;
  await page.goto(dashboard.url('/wall'));
  await page.locator(`.wall li:nth-child(${STREAMS}) img`).waitFor({ timeout: 60_000 });
  await sleep(SETTLING_MS);
  const before = {
    cpuMs: dashboard.cpuMs(),
    thumbnails: proxy.thumbnails(),
    others: proxy.others(),
    at: performance.now(),
  };
  await sleep(measuredMs);
  const cpuMs = dashboard.cpuMs() - before.cpuMs;
  const elapsedMs = performance.now() - before.at;
  const shown = await page.locator('.wall li img').count();
  if (shown !== STREAMS) throw new Error(`${shown} of ${STREAMS} pictures are shown`);
  const perMinute = (count: number) => Math.round((count * 60_000) / elapsedMs);
  return [
    {
      ...atMost(
        `a browser with the wall of ${STREAMS} live streams, ${SCREEN.width} x ${SCREEN.height}, ${measuredMs / 1000} s`,
        (cpuMs / elapsedMs) * 100,
        LIMIT_PERCENT,
        '% of a core',
      ),
      details: `${perMinute(proxy.thumbnails() - before.thumbnails)} thumbnails and ${perMinute(proxy.others() - before.others)} other requests a minute`,
    },
  ];
}

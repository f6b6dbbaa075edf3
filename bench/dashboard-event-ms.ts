/**
 * How long after a change does an open page of the dashboard show it?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { openDashboard } from './support/dashboard.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { wallMs } from './support/stamped-media.ts';
import { percentile } from './support/statistics.ts';

const STREAMS = 50;
const LIMIT_MS = 250;
/** Rates of changes: one while few people work with the service, and one while many streams begin and end. */
const RATES = [
  { perSecond: 1, changes: 60 },
  { perSecond: 20, changes: 600 },
];

/**
 * Answers the question above for each rate. The measured time begins before the change is requested, and ends when the browser has painted
 * it.
 */
export async function dashboardEventMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  const ids: string[] = [];
  for (let made = 0; made < STREAMS; made += 1)
    ids.push((await server.api.createStream({ name: `stream ${made}` })).id);
  await using dashboard = await openDashboard(server);
  await using watched = await dashboard.newPage();
  const { page } = watched;
  await page.goto(dashboard.url('/streams'));
  await page.getByRole('link', { name: 'stream 0' }).waitFor();
  await page.locator('.liveness.live').waitFor();
  await page.evaluate(NOTE_WHEN_SHOWN);
  const answers: Answer[] = [];
  for (const { perSecond, changes } of RATES) {
    const changedAt = new Map<string, number>();
    const start = performance.now();
    let dueMs = 0;
    for (let change = 0; change < changes; change += 1) {
      const name = `${perSecond} a second, ${change}`;
      changedAt.set(name, wallMs());
      // A name that is replaced before the page has shown it would never be seen, so each stream is left alone for a while.
      const response = await server.api.request('PATCH', `/stream/${ids[change % STREAMS]}`, { name });
      if (response.status !== 204) throw new Error(await response.text());
      // Gaps as irregular as chance, and the same in each run.
      dueMs += -Math.log(1 - ((change * 0.618_034) % 1)) * (1000 / perSecond);
      const aheadMs = dueMs - (performance.now() - start);
      if (aheadMs > 0) await sleep(aheadMs);
    }
    const shown = await waitFor(() => allShown(page, changedAt), {
      what: 'all changes on the page',
      timeoutMs: 30_000,
    });
    const delaysMs = [...changedAt].map(([name, at]) => shown.get(name)! - at);
    answers.push({
      ...atMost(
        `a change -> shown by an open page, ${perSecond} a second, p95`,
        percentile(delaysMs, 0.95),
        LIMIT_MS,
        'ms',
      ),
      details: `p50 ${Math.round(percentile(delaysMs, 0.5))} ms, max ${Math.round(Math.max(...delaysMs))} ms`,
    });
  }
  return answers;
}

/** When each name was painted; undefined while one of them was not. */
async function allShown(
  page: Page,
  changed: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, number> | undefined> {
  const shown = new Map(await page.evaluate<[string, number][]>('[...shown]'));
  return [...changed.keys()].every((name) => shown.has(name)) ? shown : undefined;
}

/** Runs in the page, so it is text. */
const NOTE_WHEN_SHOWN = `
  globalThis.shown = new Map();
  const look = () => {
    const names = [...document.querySelectorAll('a.name')].map((link) => link.textContent).filter((name) => !shown.has(name));
    for (const name of names) shown.set(name, Infinity);
    requestAnimationFrame(() => setTimeout(() => {
      for (const name of names) shown.set(name, performance.timeOrigin + performance.now());
    }));
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });`;

/**
 * How long does it take until somebody who waits for an encoder sees that it was refused, or that the stream is live?
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { RtmpClient, RtmpRefusedError } from '../test/support/rtmp-client.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { type DashboardBrowser, openDashboard } from './support/dashboard.ts';
import { type Answer, atMost } from './support/question.ts';
import { sendPaced } from './support/sender.ts';
import { MEASURED } from './support/settings.ts';
import { percentile } from './support/statistics.ts';

const ROUNDS = 12;
const LIMIT_MS = 2000;
const SHAPE = { fps: 30, gopS: 2, bitrateBps: 1_000_000 };
/** The page polls at intervals of this length. In each round the encoder comes at another moment of an interval. */
const PHASES_MS = 2000;

/** What an encoder does, and what the page says to that. */
interface Case {
  readonly question: string;
  readonly run: (bench: Bench, page: Page, round: number) => Promise<number>;
}

interface Bench {
  readonly server: ServerProcess;
  readonly dashboard: DashboardBrowser;
}

const CASES: readonly Case[] = [
  { question: 'an encoder with a former key of the stream is refused -> explained on the page', run: formerKey },
  { question: 'an encoder with a key of no stream is refused -> explained on the page', run: unknownKey },
  { question: 'the first keyframe of an encoder -> “You are live” on the page', run: live },
];

/** Answers the question above for the slowest of several attempts. */
export async function dashboardVisibleMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: MEASURED });
  await using dashboard = await openDashboard(server);
  await using watched = await dashboard.newPage();
  const answers: Answer[] = [];
  for (const { question, run } of CASES) {
    const timesMs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) timesMs.push(await run({ server, dashboard }, watched.page, round));
    answers.push({
      ...atMost(`${question}, slowest of ${ROUNDS}`, Math.max(...timesMs), LIMIT_MS, 'ms'),
      details: `p50 ${Math.round(percentile(timesMs, 0.5))} ms`,
    });
  }
  return answers;
}

async function formerKey({ server, dashboard }: Bench, page: Page, round: number): Promise<number> {
  const { id, streamKey } = await server.api.createStream();
  await server.api.request('POST', `/stream/${id}/rotate-key`);
  await waitAt(page, dashboard.url(`/streams/${id}/start`), round);
  return await timed(
    () => refused(server, streamKey),
    () => page.getByText('The encoder uses a former key of this stream').waitFor(),
  );
}

async function unknownKey({ server, dashboard }: Bench, page: Page, round: number): Promise<number> {
  const { id } = await server.api.createStream();
  await waitAt(page, dashboard.url(`/streams/${id}/start`), round);
  // Attempts of one address are counted together, and the page still shows those of former rounds.
  const message = page.getByText('tried from your address');
  const seen = round === 0 ? message : message.filter({ hasText: `(${round + 1} times)` });
  return await timed(
    () => refused(server, 'aaaa-bbbb-cccc-dddd'),
    () => seen.waitFor(),
  );
}

async function live({ server, dashboard }: Bench, page: Page, round: number): Promise<number> {
  const { id, streamKey } = await server.api.createStream();
  await waitAt(page, dashboard.url(`/streams/${id}/start`), round);
  const client = await RtmpClient.publish(server.rtmpPort, streamKey);
  const stop = new AbortController();
  let sending: Promise<void> | undefined;
  const tookMs = await timed(
    async () => {
      sending = sendPaced(client, streamKey, SHAPE, stop);
    },
    () => page.getByText('You are live').waitFor(),
  );
  stop.abort();
  await sending;
  return tookMs;
}

async function waitAt(page: Page, url: string, round: number): Promise<void> {
  await page.goto(url);
  await page.getByText('Waiting for your encoder').first().waitFor();
  await page.locator('.liveness.live').waitFor();
  await sleep((round / ROUNDS) * PHASES_MS);
}

const refused = (server: ServerProcess, streamKey: string): Promise<void> =>
  assert.rejects(RtmpClient.publish(server.rtmpPort, streamKey), RtmpRefusedError);

/** Milliseconds from the start of `cause` until `effect` is seen. Waiting for the effect begins before the cause. */
async function timed(cause: () => Promise<void>, effect: () => Promise<void>): Promise<number> {
  const seen = effect().then(() => performance.now());
  const startedAt = performance.now();
  await cause();
  return (await seen) - startedAt;
}

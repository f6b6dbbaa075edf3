/**
 * How much CPU does a passed-through stream of 3 Mbit/s cost the server, with 10 and with 100 of them?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server.ts';
import { createStreams, publishTo } from './support/load.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const COUNTS = [10, 100];
const LIMIT_PERCENT = 0.4;
/** The time before the measurement, in which the first segments are made. */
const SETTLE_MS = 5000;
const SECONDS = 20;

/** Answers the question above. */
export async function passthroughCpuPercent(): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let first: number | undefined;
  for (const count of COUNTS) {
    const percent = await percentWith(count);
    first ??= percent;
    const question = `server CPU per passed-through 3 Mbit/s stream, ${count} streams`;
    const { mustReach, reached, ...answer } = atMost(question, percent, LIMIT_PERCENT, '% of a core');
    // A tenth more than with few streams is the noise of the machine, not growth.
    answers.push({ ...answer, mustReach: `${mustReach}, not growing`, reached: reached && percent <= first * 1.1 });
  }
  return answers;
}

/** Returns the CPU of each stream, in percent of a core. */
async function percentWith(count: number): Promise<number> {
  await using server = await startServerProcess({ settings: MEASURED });
  await using _load = await publishTo(server.rtmpPort, await createStreams(server.api, count), SHAPE);
  await sleep(SETTLE_MS);
  const spentMs = await cpuMsDuring(server.pid, () => sleep(SECONDS * 1000));
  return (spentMs / (SECONDS * 1000) / count) * 100;
}

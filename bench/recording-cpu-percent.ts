/**
 * How much CPU does recording add to a passed-through stream of 3 Mbit/s, and what does it do to the event loop?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createStreams, publishTo } from './support/load.ts';
import { startObservedServer } from './support/observed-server.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const STREAMS = 100;
const LIMIT_PERCENT = 0.2;
const LIMIT_DELAY_MS = 5;
/** The time before the measurement, in which the first segments are made. */
const SETTLE_MS = 5000;
/** The length of the measurement. It is longer than the files of a recording, so that new ones are begun meanwhile. */
const SECONDS = { asked: 90, usual: 30 };
const VOLUME_S = { MILLRACE_RECORDING_VOLUME_S: '20' };

interface Run {
  /** The CPU of each stream, in percent of a core. */
  readonly percent: number;
  readonly delayP99Ms: number;
}

/** Answers the question above. */
export async function recordingCpuPercent({ long }: BenchOptions): Promise<readonly Answer[]> {
  const seconds = long ? SECONDS.asked : SECONDS.usual;
  const plain = await run(false, seconds);
  const recorded = await run(true, seconds);
  const added = recorded.percent - plain.percent;
  const delayed = recorded.delayP99Ms - plain.delayP99Ms;
  return [
    {
      question: `CPU that recording adds to a passed-through 3 Mbit/s stream, ${STREAMS} streams`,
      measured: `${show(added)} % of a core`,
      against: `without recording ${show(plain.percent)} %`,
      ratio: recorded.percent / plain.percent,
      mustReach: `<= ${LIMIT_PERCENT} %`,
      reached: added <= LIMIT_PERCENT,
    },
    {
      question: `event loop delay that recording adds, p99, ${STREAMS} streams`,
      measured: `${show(delayed)} ms`,
      against: `without recording ${show(plain.delayP99Ms)} ms`,
      ratio: recorded.delayP99Ms / plain.delayP99Ms,
      mustReach: `<= ${LIMIT_DELAY_MS} ms`,
      reached: delayed <= LIMIT_DELAY_MS,
    },
  ];
}

async function run(record: boolean, seconds: number): Promise<Run> {
  await using server = await startObservedServer({ settings: { ...MEASURED, ...VOLUME_S } });
  const streams = await createStreams(server.api, STREAMS, () => ({ record }));
  await using _load = await publishTo(server.rtmpPort, streams, SHAPE);
  await sleep(SETTLE_MS);
  await server.loop();
  const spentMs = await cpuMsDuring(server.pid, () => sleep(seconds * 1000));
  const { delayP99Ms } = await server.loop();
  return { percent: (spentMs / (seconds * 1000) / STREAMS) * 100, delayP99Ms };
}

/**
 * With 1,000 full low-latency viewers of one stream, how long after a part exists do they know of it?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server.ts';
import type { ViewersReport } from './peers/viewers.ts';
import { broadcast } from './support/broadcast.ts';
import { startPeer } from './support/peer-process.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMost, firstOf, show } from './support/question.ts';
import { renditionUrls } from './support/rendition-reader.ts';
import { percentile } from './support/statistics.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 300_000 };
const VIEWERS = 1000;
/** The number of processes that the viewers run in. A single process would be too busy to measure when its viewers were woken. */
const PROCESSES = 2;
const SECONDS = 20;
const LIMIT_MS = 60;

/** Answers the question above. */
export async function viewersWakeUpMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using live = await broadcast(server, SHAPE);
  const { video, audio } = await renditionUrls(live.url);

  await using crowd = new AsyncDisposableStack();
  const job = { urls: [video.href, audio.href], viewers: VIEWERS / PROCESSES };
  const processes = [];
  for (let index = 0; index < PROCESSES; index += 1) processes.push(crowd.use(await startPeer('viewers.ts', job)));
  const since = performance.timeOrigin + performance.now();
  const spentMs = await cpuMsDuring(server.pid, () => sleep(SECONDS * 1000));
  const reports = await Promise.all(processes.map((each) => each.ask('report') as Promise<ViewersReport>));

  const errors = reports.flatMap((report) => report.errors);
  const delaysMs = [...new Set(reports.flatMap(({ listedAtMs }) => [...listedAtMs.keys()]))].flatMap((part) => {
    const times = reports.flatMap(({ listedAtMs }) => listedAtMs.get(part) ?? []);
    // A part exists at the latest when the first viewer knows of it.
    const existsAtMs = times.reduce((a, b) => Math.min(a, b));
    return existsAtMs < since ? [] : times.map((atMs) => atMs - existsAtMs);
  });
  const question = `${VIEWERS} full low-latency viewers of one 300 kbit/s stream: part exists -> viewer knows, p95`;
  const { measured, mustReach, reached, ...answer } = atMost(question, percentile(delaysMs, 0.95), LIMIT_MS, 'ms');
  return [
    {
      ...answer,
      measured: `${measured}, ${errors.length} errors`,
      mustReach: `${mustReach}, no error`,
      reached: reached && errors.length === 0,
      details: [`server at ${show(spentMs / SECONDS / 10)} % of a core`, firstOf(errors).details]
        .filter(Boolean)
        .join('; '),
    },
  ];
}

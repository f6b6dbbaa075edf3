/**
 * The tasks of a page's main thread, as Chromium traces them. While one runs, the page neither scrolls by script nor answers.
 */
import { once } from 'node:events';
import type { Page } from 'playwright-core';

/** An event of Chromium's trace, of the parts that are used here. Times are in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

const THREAD = 'CrRendererMain';

/**
 * Traces the main threads of all pages of the browser until the returned function is called. It gives the longest task in milliseconds: the CPU time
 * that it used or the time that it took, whichever is less, so that a busy machine makes it no longer.
 */
export async function traceTasks(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  const mainThreads = new Set<string>();
  const tasks: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value as unknown as readonly TraceEvent[]) {
      if (event.name === 'thread_name' && event.args.name === THREAD) mainThreads.add(threadOf(event));
      // Those that took less decide nothing.
      if (event.name.endsWith('RunTask') && (event.tdur ?? 0) > 1000) tasks.push(event);
    }
  });
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel'], recordMode: 'recordContinuously' },
  });
  return async () => {
    const complete = once(session as never, 'Tracing.tracingComplete');
    await session.send('Tracing.end');
    await complete;
    const pauses = tasks
      .filter((event) => mainThreads.has(threadOf(event)))
      .map(({ dur = 0, tdur = 0 }) => Math.min(dur, tdur));
    return Math.max(0, ...pauses) / 1000;
  };
}

const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;

/** Load: many open pages of the dashboard in one process, each with its event stream and its requests. Answers with their number once all are open. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeanConnection, requestHead } from '../support/lean-http.ts';

/** The pages to open, and their requests. */
export interface DashboardPagesJob {
  readonly port: number;
  readonly pages: number;
  /** The header `authorization` of a browser that is signed in. */
  readonly authorization: string;
  readonly eventStream: string;
  /** The requests of a page in each period, and the time of each from the start of the period, in milliseconds, ascending. */
  readonly requests: readonly { readonly path: string; readonly atMs: number }[];
  readonly periodMs: number;
}

/** The requests of all pages so far. */
export interface DashboardPagesReport {
  readonly answered: number;
  /** Answers other than 2xx and 404. A stream that is not transcoded has no thumbnail. */
  readonly failed: number;
  /** Requests that were sent more than a second late. */
  readonly late: number;
}

const report = { answered: 0, failed: 0, late: 0 };

process.once('message', (job: DashboardPagesJob) => void open(job));
process.once('disconnect', () => process.exit());

async function open(job: DashboardPagesJob): Promise<void> {
  for (let page = 0; page < job.pages; page += 1) {
    await holdEvents(job);
    void ask(job, (page / job.pages) * job.periodMs);
  }
  process.send?.(job.pages);
  process.on('message', () => process.send?.(report));
}

async function holdEvents({ port, eventStream, authorization }: DashboardPagesJob): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`${requestHead('GET', eventStream, { authorization })}\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  if (!first.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`the event stream: ${first.toString()}`);
  socket.resume();
}

/** Asks for what a page asks for, period after period, until this process ends. @param phaseMs where in its period the page begins */
async function ask({ port, authorization, requests, periodMs }: DashboardPagesJob, phaseMs: number): Promise<void> {
  const connection = await LeanConnection.open(port);
  const heads = requests.map(({ path, atMs }) => ({
    atMs,
    head: requestHead('GET', path, headersOf(path, authorization)),
  }));
  const start = performance.now() - phaseMs;
  for (let period = 0; ; period += 1) {
    for (const { atMs, head } of heads) {
      const waitMs = start + period * periodMs + atMs - performance.now();
      if (period === 0 && waitMs < 0) continue;
      if (waitMs > 0) await sleep(waitMs);
      else if (waitMs < -1000) report.late += 1;
      const { status } = await connection.request(head);
      report.answered += 1;
      if ((status < 200 || status > 299) && status !== 404) report.failed += 1;
    }
    if (heads.length === 0) return;
  }
}

/** A browser asks for pictures without a token. */
const headersOf = (path: string, authorization: string) => ({
  'accept-encoding': 'gzip, deflate, br',
  ...(path.includes('/api/') && { authorization }),
});

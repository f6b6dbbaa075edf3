/**
 * Does anything grow when publishers come and go tens of thousands of times?
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { SAMPLE_MS } from '#live/session-sampler.ts';
import { newCustomer } from '../test/support/customer.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { createStreams } from './support/load.ts';
import { type ObservedServer, startObservedServer } from './support/observed-server.ts';
import { type PeerProcess, startPeer } from './support/peer-process.ts';
import { residentBytes } from './support/process-usage.ts';
import { type Answer, type BenchOptions, firstOf, show } from './support/question.ts';
import { mean } from './support/statistics.ts';

const MB = 1e6;
const CYCLES = { asked: 40_000, usual: 2000 };
/** How many samples are taken in each quarter. Each waits until the media of ended sessions is gone. */
const SAMPLES = { asked: 3, usual: 1 };
const QUARTERS = 4;
/** The share of cycles that come before the first sample, so that code is compiled and caches are filled by then. */
const WARM_SHARE = 0.25;
/** The pause before resident memory is read. After a collection, V8 keeps up to 200 MB of empty pages for 8 s (`--memory-pool-timeout`). */
const PAGES_KEPT_MS = 10_000;
const USERS = 8;
const STREAMS_OF_USER = 5;
/** Settings with short playlists, so that what a session leaves behind is gone soon. */
const SETTINGS = {
  MILLRACE_SEGMENT_TARGET_DURATION_S: '2',
  MILLRACE_PLAYLIST_WINDOW_S: '12',
  MILLRACE_LOG_LEVEL: 'info',
  // Otherwise a customer may not begin to publish that often.
  MILLRACE_QUOTA_PUBLISHES_PER_MINUTE: '0',
};
const MAX_GROWTH = 1.05;

/** What a server has in use at rest. */
interface Sample {
  readonly heapMb: number;
  readonly residentMb: number;
  readonly descriptors: number;
  readonly rows: number;
  /** The bytes that would have been logged so far if the log had no limit. */
  readonly logBytes: number;
}

/** Answers the question for everything that may grow. */
export async function publishStopCycles({ long, cycles: asked }: BenchOptions): Promise<readonly Answer[]> {
  const cycles = asked ?? (long ? CYCLES.asked : CYCLES.usual);
  const perQuarter = long ? SAMPLES.asked : SAMPLES.usual;
  const perSample = Math.ceil(cycles / QUARTERS / perQuarter);
  await using server = await startObservedServer({ settings: SETTINGS });
  const streamKeys: string[] = [];
  for (let user = 0; user < USERS; user += 1) {
    const streams = await createStreams(await newCustomer(server, `customer-${user}`), STREAMS_OF_USER);
    streamKeys.push(...streams.map(({ streamKey }) => streamKey));
  }
  await using cyclers = await startPeer('cyclers.ts', { port: server.rtmpPort, streamKeys });

  const faults = [...(await goThrough(cyclers, Math.ceil(cycles * WARM_SHARE)))];
  const samples = [await sample(server)];
  for (let count = 0; count < QUARTERS * perQuarter; count += 1) {
    faults.push(...(await goThrough(cyclers, perSample)));
    samples.push(await sample(server));
  }
  const first = samples.slice(0, perQuarter + 1);
  const last = samples.slice(-perQuarter - 1);

  const context = `${QUARTERS * perQuarter * perSample} publish/stop cycles of ${streamKeys.length} streams of ${USERS} users${long ? '' : ` (${CYCLES.asked} with --long)`}`;
  const grows = (what: string, unit: string, of: (samples: readonly Sample[]) => number): Answer => ({
    question: `${what} over ${context}`,
    measured: `${show(of(last))} ${unit} in the last quarter, ${faults.length} cycles failed`,
    against: `${show(of(first))} ${unit} in the first`,
    ratio: of(last) / of(first),
    mustReach: `<= ${MAX_GROWTH}x, no cycle failed`,
    reached: of(last) <= MAX_GROWTH * of(first) && faults.length === 0,
    ...firstOf(faults),
  });
  // The first sample of a quarter was taken at its beginning.
  const level = (key: keyof Sample) => (quarter: readonly Sample[]) => mean(quarter.slice(1).map((each) => each[key]));
  const perCycle = (key: keyof Sample) => (quarter: readonly Sample[]) =>
    (quarter.at(-1)![key] - quarter[0]![key]) / (perQuarter * perSample);
  return [
    grows('heap after GC', 'MB', level('heapMb')),
    grows('resident memory after GC', 'MB', level('residentMb')),
    grows('descriptors', 'open', level('descriptors')),
    // Sessions are kept for a year, so each adds rows. But the rows a session adds must not become more and more.
    grows('database rows a cycle', 'rows', perCycle('rows')),
    // The log writes at most 100 lines of one message in 10 s and counts the others, so its size would depend on how long a cycle takes.
    grows('log a cycle, with lines that its limit dropped,', 'bytes', perCycle('logBytes')),
  ];
}

async function goThrough(cyclers: PeerProcess, cycles: number): Promise<readonly string[]> {
  return (await cyclers.ask(cycles)) as readonly string[];
}

/** Takes a sample once all sessions have been released. */
async function sample(server: ObservedServer): Promise<Sample> {
  const isAtRest = async () => /^millrace_media_memory_bytes 0$/m.test(await (await fetch(server.metricsUrl)).text());
  await waitFor(isAtRest, { what: 'ended sessions to be released', timeoutMs: 120_000 });
  // The last usage of an ended session is counted with the next samples. Until then, some objects of the session stay in memory.
  await sleep(2 * SAMPLE_MS);
  const { heapBytes } = await server.memory();
  await sleep(PAGES_KEPT_MS);
  return {
    heapMb: heapBytes / MB,
    residentMb: residentBytes(server.pid) / MB,
    descriptors: readdirSync(`/proc/${server.pid}/fd`).length,
    rows: countRows(join(server.dataDir, 'millrace.db')),
    logBytes: unlimitedLogBytes(server.logLines),
  };
}

/** The bytes that the log would have without its limit. A dropped line counts as much as the written lines of its message on average. */
function unlimitedLogBytes(lines: readonly string[]): number {
  const sizes = new Map<string, number[]>();
  const dropped = new Map<string, number>();
  for (const line of lines) {
    const { msg, dropped: counts } = JSON.parse(line) as { msg: string; dropped?: Readonly<Record<string, number>> };
    if (counts === undefined) sizes.getOrInsert(msg, []).push(Buffer.byteLength(line) + 1);
    for (const [name, count] of Object.entries(counts ?? {})) dropped.set(name, (dropped.get(name) ?? 0) + count);
  }
  const bytes = [...sizes].map(([msg, written]) => mean(written) * (written.length + (dropped.get(msg) ?? 0)));
  return bytes.reduce((sum, each) => sum + each, 0);
}

/** Counts the rows of all tables together. */
function countRows(path: string): number {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const rows = tables.map(({ name }) => database.prepare(`SELECT count(*) AS rows FROM "${String(name)}"`).get()?.rows);
  return rows.reduce<number>((sum, each) => sum + Number(each), 0);
}

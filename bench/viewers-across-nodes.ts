/**
 * What does a node that owns a stream spend when more and more viewers watch it through another node, and how much later do these viewers
 * learn of a part?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import type { ViewersReport } from './peers/viewers.ts';
import { broadcast } from './support/broadcast.ts';
import { type ObservedServer, startObservedServer } from './support/observed-server.ts';
import { startPeer } from './support/peer-process.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';
import { readParts, renditionUrls } from './support/rendition-reader.ts';
import { wallMs } from './support/stamped-media.ts';
import { percentile } from './support/statistics.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 300_000 };
const FEW = 20;
const MANY = 2000;
/** The number of processes that the viewers run in. A single process would be too busy to measure when its viewers were woken. */
const PROCESSES = 2;
const SECONDS = { asked: 60, usual: 15 };
const LIMIT = { times: 1.2, laterMs: 30 } as const;
/** The share of parts that a crowd must have received. With less, this machine could not keep up, and the measurement shows nothing. */
const MUST_HAVE_HAD = 0.95;

/** What one crowd of viewers cost the owner, and what it saw. */
interface Watched {
  readonly requestsPerS: number;
  /** In percent of a core. */
  readonly cpuPercent: number;
  /** The share of all parts that the viewers received, 0..1. */
  readonly had: number;
  /** How long it took from when a viewer at the owner itself knew of a part until each viewer of the crowd did. */
  readonly wakeUpMs: readonly number[];
  readonly errors: readonly string[];
}

/** Answers the question for requests, for CPU, and for the delay. */
export async function viewersAcrossNodes({ long }: BenchOptions): Promise<readonly Answer[]> {
  await using postgres = await startPostgres();
  const settings = { MILLRACE_DATABASE_URL: await postgres.newDatabase(), MILLRACE_LOG_LEVEL: 'info' };
  await using owner = await startObservedServer({ settings });
  await using other = await startServerProcess({ settings, apiKey: owner.apiKey });
  await using live = await broadcast(owner, SHAPE);
  const atOther = other.playlistUrl(live.playbackId);
  await waitFor(async () => (await fetch(atOther)).ok, { what: 'the stream to be live at the other node' });

  const seconds = long ? SECONDS.asked : SECONDS.usual;
  const watch = (viewers: number, at: string) => watchWith(viewers, at, { owner, atOwner: live.url, seconds });
  const few = await watch(FEW, atOther);
  const many = await watch(MANY, atOther);
  const direct = await watch(MANY, live.url);

  const crowds = [few, many, direct];
  const errors = crowds.flatMap((each) => each.errors);
  const had = Math.min(...crowds.map((each) => each.had));
  const isFair = errors.length === 0 && had >= MUST_HAVE_HAD;
  const details = [`${show(had * 100)} % of the parts were had, ${errors.length} errors`, ...errors.slice(0, 1)].join(
    '; ',
  );
  const flat = (what: string, of: (watched: Watched) => number, unit: string): Answer => ({
    question: `${what} at the owner with ${MANY} viewers of one stream through another node`,
    measured: `${show(of(many))} ${unit}`,
    against: `with ${FEW} viewers ${show(of(few))} ${unit}`,
    ratio: of(many) / of(few),
    mustReach: `<= ${LIMIT.times}x, all parts had`,
    reached: of(many) <= LIMIT.times * of(few) && isFair,
    details,
  });
  const p95 = ({ wakeUpMs }: Watched) =>
    wakeUpMs.length === 0 ? Number.POSITIVE_INFINITY : percentile(wakeUpMs, 0.95);
  return [
    flat('requests', ({ requestsPerS }) => requestsPerS, '/s'),
    flat('CPU', ({ cpuPercent }) => cpuPercent, '% of a core'),
    {
      question: `part exists -> ${MANY} viewers through another node know, p95`,
      measured: `${show(p95(many))} ms`,
      against: `${MANY} viewers at the owner ${show(p95(direct))} ms`,
      mustReach: `within ${LIMIT.laterMs} ms`,
      reached: p95(many) <= p95(direct) + LIMIT.laterMs && isFair,
      details,
    },
  ];
}

/** Lets a crowd watch for a while, beside one viewer at the owner that shows when each part exists. */
async function watchWith(
  viewers: number,
  at: string,
  { owner, atOwner, seconds }: { readonly owner: ObservedServer; readonly atOwner: string; readonly seconds: number },
): Promise<Watched> {
  const { video } = await renditionUrls(at);
  await using crowd = new AsyncDisposableStack();
  // Viewers read the video only. On two cores, as many readers of the audio would measure the machine.
  const job = { urls: [video.href], viewers: viewers / PROCESSES };
  const processes = [];
  for (let index = 0; index < PROCESSES; index += 1) processes.push(crowd.use(await startPeer('viewers.ts', job)));
  const stop = new AbortController();
  const existing = existAtMs(atOwner, stop.signal);
  await owner.loop();
  const since = wallMs();
  const spentMs = await cpuMsDuring(owner.pid, () => sleep(seconds * 1000));
  const { requests } = await owner.loop();
  const reports = await Promise.all(processes.map((each) => each.ask('report') as Promise<ViewersReport>));
  stop.abort();

  const untilMs = since + (seconds - 1) * 1000;
  const parts = [...(await existing)].filter(([, atMs]) => atMs >= since && atMs < untilMs);
  const wakeUpMs = parts.flatMap(([path, atMs]) =>
    reports.flatMap(({ listedAtMs }) => listedAtMs.get(path) ?? []).map((knownAtMs) => knownAtMs - atMs),
  );
  return {
    requestsPerS: requests / seconds,
    cpuPercent: spentMs / seconds / 10,
    had: wakeUpMs.length / (parts.length * viewers),
    wakeUpMs,
    errors: reports.flatMap((report) => report.errors),
  };
}

/** When a viewer at that URL knew of each part of the video, by the part's path. No part exists later than that. */
async function existAtMs(url: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const { video } = await renditionUrls(url);
  const known = new Map<string, number>();
  try {
    for await (const { name, listedAtMs } of readParts(video, { signal }))
      known.set(new URL(name, video).pathname, listedAtMs);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return known;
}

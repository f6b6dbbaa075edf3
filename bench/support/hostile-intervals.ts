/**
 * Quiet and hostile intervals in turn against one server, and what its other customers and its event loop saw in each.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '#lib/units.ts';
import type { CreatedStream } from '../../test/support/api-client.ts';
import type { AttackJob } from '../peers/attackers.ts';
import type { PartLatency, VictimsJob, VictimsReport } from '../peers/victims.ts';
import { VICTIM } from './addresses.ts';
import { type AttackReport, whileAttacked } from './attacking.ts';
import type { ObservedServer } from './observed-server.ts';
import { type PeerProcess, startPeer } from './peer-process.ts';
import { type Answer, InvalidRunError, show } from './question.ts';
import { wallMs } from './stamped-media.ts';
import { percentile } from './statistics.ts';

/** How long each kind of interval is. */
export interface Intervals {
  readonly quietMs: number;
  readonly hostileMs: number;
}

/** What was observed in one interval, or in several together. */
export interface Seen {
  /** The most CPU the server's main thread used between two turns of its timers, in milliseconds. */
  readonly blockMs: number;
  /** The longest time between two turns of its timers, in milliseconds, even if the machine was busy with something else. */
  readonly pauseMs: number;
  /** The latencies of the parts that the victims' viewers waited for. */
  readonly latenciesMs: readonly number[];
  /** What went wrong for the victims. */
  readonly faults: readonly string[];
  readonly logBytesPerMinute: number;
}

/** What an attack did. */
export interface Attacked {
  readonly attack: string;
  /** The interval before it. */
  readonly quiet: Seen;
  readonly hostile: Seen;
  readonly sent: AttackReport;
}

/** How long an interval is observed beyond its end, because what an attack leaves behind counts as its effect. */
const SETTLE_MS = 1500;
/** The longest wait for each viewer's first part after an interval. A viewer that gets none by then is a fault. */
const LATEST_PART_MS = 60_000;
const ASK_EVERY_MS = 250;

/** Starts the customers whose streams go on during attacks, each with a publisher and a viewer. */
export async function startVictims(
  server: ObservedServer,
  streams: readonly CreatedStream[],
  { shape, certificate }: Pick<VictimsJob, 'shape'> & { readonly certificate?: string | undefined },
): Promise<PeerProcess> {
  const watched = streams.map(({ streamKey, playbackId }) => ({
    streamKey,
    playlistUrl: server.playlistUrl(playbackId),
  }));
  const job: VictimsJob = { rtmpPort: server.rtmpPort, streams: watched, shape, localAddress: VICTIM, certificate };
  return await startPeer('victims.ts', job);
}

/**
 * Runs the attacks in turn, each after a quiet interval.
 * @param meanwhile is called in each hostile interval, which lasts until it is done
 */
export async function* attackInTurn(
  server: ObservedServer,
  victims: PeerProcess,
  jobs: readonly AttackJob[],
  { quietMs, hostileMs }: Intervals,
  meanwhile: () => Promise<void> = async () => {},
): AsyncGenerator<Attacked> {
  for (const job of jobs) {
    const quiet = await observe(server, victims, () => sleep(quietMs));
    let sent: AttackReport | undefined;
    const hostile = await observe(server, victims, async () => {
      ({ report: sent } = await whileAttacked(job, () => Promise.all([sleep(hostileMs), meanwhile()])));
    });
    yield { attack: job.attack, quiet, hostile, sent: sent! };
  }
}

/** Observes the server and the victims during `work`. A part counts if its last frame was sent in that time. */
async function observe(server: ObservedServer, victims: PeerProcess, work: () => Promise<unknown>): Promise<Seen> {
  await server.loop();
  await victims.ask('report');
  const logBytesBefore = server.logBytes();
  const fromMs = wallMs();
  await work();
  const untilMs = wallMs();
  const { parts, faults } = await reportPast(victims, untilMs);
  await sleep(SETTLE_MS);
  const { blockMs, pauseMs } = await server.loop();
  const isWithin = ({ sentAtMs }: PartLatency) => sentAtMs >= fromMs && sentAtMs < untilMs;
  return {
    blockMs,
    pauseMs,
    latenciesMs: parts.filter(isWithin).map(({ latencyMs }) => latencyMs),
    faults,
    logBytesPerMinute: ((server.logBytes() - logBytesBefore) * MINUTE_MS) / (wallMs() - fromMs),
  };
}

/** What the victims saw until each viewer has had a part that was sent after that moment, so that parts which come late are not missed. */
async function reportPast(victims: PeerProcess, untilMs: number): Promise<VictimsReport> {
  const deadline = performance.now() + LATEST_PART_MS;
  const parts: PartLatency[] = [];
  const faults: string[] = [];
  const waiting = new Set(Array.from({ length: victims.answer }, (_, index) => index + 1));
  while (waiting.size > 0) {
    await sleep(ASK_EVERY_MS);
    const report = (await victims.ask('report')) as VictimsReport;
    parts.push(...report.parts);
    faults.push(...report.faults);
    for (const { viewer, sentAtMs } of report.parts) if (sentAtMs >= untilMs) waiting.delete(viewer);
    if (performance.now() < deadline) continue;
    faults.push(`${waiting.size} viewers had no part for ${LATEST_PART_MS / 1000} s`);
    break;
  }
  return { parts, faults };
}

/** Takes several intervals as one: the worst of each value, and the latencies of all. */
function together(intervals: readonly Seen[]): Seen {
  const most = (of: (seen: Seen) => number) => Math.max(...intervals.map(of));
  return {
    blockMs: most(({ blockMs }) => blockMs),
    pauseMs: most(({ pauseMs }) => pauseMs),
    latenciesMs: intervals.flatMap(({ latenciesMs }) => latenciesMs),
    faults: intervals.flatMap(({ faults }) => faults),
    logBytesPerMinute: most(({ logBytesPerMinute }) => logBytesPerMinute),
  };
}

/** The time within which 99 of 100 parts arrived, in milliseconds; infinite when none came at all. */
const p99Ms = ({ latenciesMs }: Seen): number =>
  latenciesMs.length === 0 ? Number.POSITIVE_INFINITY : percentile(latenciesMs, 0.99);

/** Limits on what strangers and neighbours may cost. */
const LIMIT = { blockMs: 10, laterMs: 50, logMbPerMinute: 1 } as const;

/** A machine on which parts of 333 ms came later than this while nobody attacked shows nothing about an attack. */
const QUIET_LATEST_MS = 400;

/** Compares each attack with all quiet intervals of its run. */
export function answersOf<Done extends Attacked>(
  done: readonly Done[],
  questionOf: (attacked: Done) => string,
): readonly Answer[] {
  const quiet = together(done.map((each) => each.quiet));
  return done.map((each) => answerOf(questionOf(each), each, quiet));
}

function answerOf(question: string, { hostile, sent }: Attacked, quiet: Seen): Answer {
  if (p99Ms(quiet) > QUIET_LATEST_MS) throw new InvalidRunError('parts came late although nobody attacked');
  const isReached =
    hostile.blockMs <= LIMIT.blockMs &&
    p99Ms(hostile) <= p99Ms(quiet) + LIMIT.laterMs &&
    hostile.logBytesPerMinute <= LIMIT.logMbPerMinute * 1e6 &&
    hostile.faults.length === 0;
  return {
    question,
    measured: describe(hostile),
    against: `quiet: block ${show(quiet.blockMs)} ms, p99 ${show(p99Ms(quiet))} ms`,
    mustReach: `block <= ${LIMIT.blockMs} ms, p99 +${LIMIT.laterMs} ms, log <= ${LIMIT.logMbPerMinute} MB/min, no fault`,
    reached: isReached,
    details: [
      rateOf(sent),
      `longest pause ${show(hostile.pauseMs)} ms, quiet ${show(quiet.pauseMs)} ms`,
      `quiet log ${show(quiet.logBytesPerMinute / 1e6)} MB/min`,
      ...hostile.faults.slice(0, 3),
    ].join('; '),
  };
}

function describe(seen: Seen): string {
  const { blockMs, latenciesMs, logBytesPerMinute, faults } = seen;
  const latency = latenciesMs.length === 0 ? 'no part' : `p99 ${show(p99Ms(seen))} ms`;
  return `block ${show(blockMs)} ms, ${latency}, log ${show(logBytesPerMinute / 1e6)} MB/min, ${faults.length} faults`;
}

/** What the attackers sent in each second, in words. */
export function rateOf({ requests, bytes, connections, seconds }: AttackReport): string {
  const perS = (count: number) => show(count / seconds);
  return `sent ${perS(requests)} requests, ${show((bytes * 8) / seconds / 1e6)} Mbit and ${perS(connections)} connections a second`;
}

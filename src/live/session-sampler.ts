/**
 * Takes health samples of all live sessions, stores one for each minute with its session, and stores the usage of streams.
 */
import type { HealthSample } from '#domain/health-sample.ts';
import { joinSamples } from '#domain/health-sample.ts';
import type { PlaybackId, SessionId } from '#domain/ids.ts';
import type { SessionTotals } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import { MINUTE_MS } from '#lib/units.ts';
import type { SessionSample, Store } from '#store/store.ts';
import type { InternalErrors } from '#telemetry/internal-errors.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { LiveSession } from './live-session.ts';
import type { UsageBook } from './usage-book.ts';

/** The time between two samples of a session, in milliseconds. */
export const SAMPLE_MS = 5000;
/** The most samples that wait for the store. The oldest are dropped. */
const MAX_WAITING = 20_000;
/** The number of rows in one write. */
const BATCH = 200;

/** The options of a sampler. */
export interface SessionSamplerOptions {
  /** The live sessions of this process. */
  readonly sessions: () => Iterable<LiveSession>;
  /** The number of viewers of a stream now. */
  readonly viewersOf: (playbackId: PlaybackId) => number;
  readonly usage: UsageBook;
  readonly store: Pick<Store, 'samples' | 'usage'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly errors: InternalErrors;
}

/** What the sampler remembers of a session. */
interface Watched {
  readonly session: LiveSession;
  /** The samples of the present minute. */
  minute: HealthSample[];
  /** The totals of the session up to which usage was counted. */
  totals: SessionTotals;
  /** Whether viewers could watch the session. Otherwise it is not in the store, and its samples cannot be stored with it. */
  isKept: boolean;
}

/** Samples the sessions of one process until it is disposed. Disposing it stores what is not stored yet. */
export class SessionSampler implements AsyncDisposable {
  readonly #options: SessionSamplerOptions;
  readonly #watched = new Map<SessionId, Watched>();
  #waiting: SessionSample[] = [];
  #writing: Promise<void> | undefined;
  #writtenAt: number;
  #sampledAt: number;
  readonly #timer: NodeJS.Timeout;

  constructor(options: SessionSamplerOptions) {
    this.#options = options;
    this.#sampledAt = options.clock.monotonic();
    this.#writtenAt = this.#sampledAt;
    this.#timer = setInterval(() => this.#tick(), SAMPLE_MS);
  }

  /** Takes a sample of each session now. Once a minute, it also writes to the store. */
  #tick(): void {
    const { clock, errors } = this.#options;
    try {
      this.#sampleAll();
    } catch (error) {
      errors.note('session', error);
    }
    if (clock.monotonic() - this.#writtenAt < MINUTE_MS) return;
    this.#writtenAt = clock.monotonic();
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    this.#sampleAll();
    for (const [sessionId, watched] of this.#watched) this.#closeMinute(sessionId, watched);
    await this.#write();
  }

  #sampleAll(): void {
    const { sessions, viewersOf, clock } = this.#options;
    const now = clock.monotonic();
    const elapsedMs = now - this.#sampledAt;
    this.#sampledAt = now;
    const gone = new Map(this.#watched);
    for (const session of sessions()) {
      const { id, playbackId } = session.record;
      gone.delete(id);
      let watched = this.#watched.get(id);
      if (watched === undefined) {
        // The usage of a resumed session that an earlier process counted is in its record.
        watched = { session, minute: [], totals: session.record.totals, isKept: false };
        this.#watched.set(id, watched);
      }
      watched.isKept = session.hasPlayed;
      const viewers = viewersOf(playbackId);
      const sample = session.takeSample(viewers);
      if (sample !== undefined) watched.minute.push(sample);
      const [first] = watched.minute;
      const isOver = sample === undefined || Math.floor(first!.at / MINUTE_MS) !== Math.floor(clock.now() / MINUTE_MS);
      if (first !== undefined && isOver) this.#closeMinute(id, watched);
      this.#countUsage(watched, session.state.phase === 'ended' ? 0 : viewers * elapsedMs);
    }
    for (const [id, watched] of gone) {
      this.#closeMinute(id, watched);
      this.#countUsage(watched, 0);
      this.#watched.delete(id);
    }
  }

  /** Joins the samples of a minute into one, which waits for the store. */
  #closeMinute(sessionId: SessionId, watched: Watched): void {
    if (watched.minute.length === 0) return;
    const sample = joinSamples(watched.minute);
    watched.minute = [];
    if (!watched.isKept) return;
    this.#waiting.push({ sessionId, sample });
    if (this.#waiting.length > MAX_WAITING) this.#waiting = this.#waiting.slice(-MAX_WAITING);
  }

  #countUsage(watched: Watched, watchedMs: number): void {
    const { record, totals } = watched.session;
    const before = watched.totals;
    watched.totals = totals;
    const { usage, clock } = this.#options;
    const counts = {
      ingestMs: (totals.sourceSegmentsDuration - before.sourceSegmentsDuration) * 1000,
      ingestBytes: totals.sourceBytes - before.sourceBytes,
      transcodedMs: (totals.transcodedSegmentsDuration - before.transcodedSegmentsDuration) * 1000,
      transcodedBytes: totals.transcodedBytes - before.transcodedBytes,
      watchedMs,
    };
    if (Object.values(counts).some((value) => value > 0)) usage.count(record.playbackId, counts, clock.now());
  }

  async #write(): Promise<void> {
    const { store, usage, clock, logger } = this.#options;
    const hours = usage.take();
    try {
      for (let at = 0; at < hours.length; at += BATCH) await store.usage.count(hours.slice(at, at + BATCH));
      usage.forgetBefore(clock.now());
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.slice(0, BATCH);
        await store.samples.add(batch);
        // Samples that were added in the meantime stay. Some of the batch may have been dropped.
        this.#waiting = this.#waiting.filter((waiting) => !batch.includes(waiting));
      }
    } catch (error) {
      usage.giveBack(hours);
      logger.debug({ err: error }, 'samples and usage not written');
    }
  }
}

/**
 * Reports refused viewers in counts, at most once a minute for each stream.
 */
import type { StreamId } from '#domain/ids.ts';
import type { RefusalReason } from '#domain/playback-policy.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The time between two reports of a stream. */
const INTERVAL_MS = 60_000;
/** The largest number of streams counted at one time. Refusals of further streams are not counted until some were reported. */
const MAX_STREAMS = 10_000;

/** The refused requests of a stream within a minute. */
export interface RefusalReport {
  readonly streamId: StreamId;
  /** The times of the first and the last of them. */
  readonly from: Milliseconds;
  readonly until: Milliseconds;
  readonly count: number;
  /** The number for each reason. Reasons without refusals are left out. */
  readonly reasons: Readonly<Partial<Record<RefusalReason, number>>>;
}

interface Counted {
  readonly from: Milliseconds;
  until: Milliseconds;
  readonly reasons: Map<RefusalReason, number>;
}

/** Counts refusals, and reports them when a minute has passed since the first. */
export class Refusals implements Disposable {
  readonly #clock: Clock;
  readonly #report: (report: RefusalReport) => void;
  readonly #counted = new Map<StreamId, Counted>();
  readonly #timers = new Set<NodeJS.Timeout>();

  /** @param report must not throw */
  constructor(clock: Clock, report: (report: RefusalReport) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  /** Counts a refusal. */
  note(stream: { readonly id: StreamId }, reason: RefusalReason): void {
    const now = this.#clock.now();
    let counted = this.#counted.get(stream.id);
    if (counted === undefined) {
      if (this.#counted.size >= MAX_STREAMS) return;
      counted = { from: now, until: now, reasons: new Map() };
      this.#counted.set(stream.id, counted);
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#tell(stream.id);
      }, INTERVAL_MS).unref();
      this.#timers.add(timer);
    }
    counted.until = now;
    counted.reasons.set(reason, (counted.reasons.get(reason) ?? 0) + 1);
  }

  /** Reports everything that is counted so far. */
  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const streamId of this.#counted.keys()) this.#tell(streamId);
  }

  #tell(streamId: StreamId): void {
    const counted = this.#counted.get(streamId);
    if (counted === undefined) return;
    this.#counted.delete(streamId);
    const { from, until, reasons } = counted;
    const count = [...reasons.values()].reduce((sum, each) => sum + each, 0);
    this.#report({ streamId, from, until, count, reasons: Object.fromEntries(reasons) });
  }
}

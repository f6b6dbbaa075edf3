/**
 * Events that a stranger may cause as often as they like: the first is told at once, and repeats are counted and told together.
 */
import type { StreamId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The time for which repeats are counted before they are told. */
const INTERVAL_MS = 60_000;
/** The largest number of kinds of events that are counted at one time. */
const MAX_COUNTED = 10_000;
/** The events of one process, so that no flood fills the store. Attempts beyond them are only in the metric. */
const EVENTS = { perMinute: 300, atOnce: 300 } as const;

/** How often something happened. */
export interface Repeats {
  readonly count: number;
  readonly from: Milliseconds;
  readonly until: Milliseconds;
}

interface Counted {
  repeats: Repeats | undefined;
  /** Tells the latest of them. */
  tell: (repeats: Repeats) => void;
  timer: NodeJS.Timeout;
}

/** Counts repeats for one process. */
export class RepeatedEvents implements Disposable {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #counted = new Map<string, Counted>();
  readonly #allowed: TokenBuckets;

  /** @param intervalMs for tests */
  constructor(clock: Clock, intervalMs = INTERVAL_MS) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#allowed = new TokenBuckets({ ...EVENTS, clock });
  }

  /**
   * Tells an event, or counts it when an equal one was told a short time ago.
   * @param kind which events are equal, together with the stream
   * @param tell stores the event; it must not throw, and may be called later
   */
  happened(streamId: StreamId, kind: string, tell: (repeats: Repeats) => void): void {
    const key = `${streamId} ${kind}`;
    const at = this.#clock.now();
    const counted = this.#counted.get(key);
    if (counted !== undefined) {
      const { count, from } = counted.repeats ?? { count: 0, from: at };
      counted.repeats = { count: count + 1, from, until: at };
      counted.tell = tell;
      return;
    }
    if (this.#counted.size >= MAX_COUNTED || !this.#allowed.take('').allowed) return;
    this.#counted.set(key, { repeats: undefined, tell, timer: this.#later(key) });
    tell({ count: 1, from: at, until: at });
  }

  /** Tells everything that is counted so far. */
  [Symbol.dispose](): void {
    for (const { repeats, tell, timer } of this.#counted.values()) {
      clearTimeout(timer);
      if (repeats !== undefined) tell(repeats);
    }
    this.#counted.clear();
  }

  #later(key: string): NodeJS.Timeout {
    return setTimeout(() => {
      const counted = this.#counted.get(key);
      if (counted?.repeats === undefined) {
        this.#counted.delete(key);
        return;
      }
      counted.tell(counted.repeats);
      counted.repeats = undefined;
      counted.timer = this.#later(key);
    }, this.#intervalMs).unref();
  }
}

/**
 * Limits events that somebody can cause as often as they like: the first is reported at once, and its repeats are counted and reported
 * together.
 */
import type { StreamId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The time for which repeats are counted before they are reported. */
const INTERVAL_MS = 60_000;
/** The most events, each of a stream and a kind, whose repeats are counted at one time. Further ones are dropped. */
const MAX_COUNTED = 10_000;
/**
 * The most events that one process reports for one causer, so that no flood fills the store. Further ones are counted only in the metrics.
 * A report of repeats is an event, too.
 */
const EVENTS = { perMinute: 300, atOnce: 300 } as const;

/** How often something happened, and when it happened first and last. */
export interface Repeats {
  readonly count: number;
  readonly from: Milliseconds;
  readonly until: Milliseconds;
}

interface Counted {
  readonly causer: string;
  repeats: Repeats | undefined;
  /** Reports the repeats with the details of the latest one. */
  tell: (repeats: Repeats) => void;
  timer: NodeJS.Timeout;
}

/** Reports events and counts their repeats, for one process. */
export class RepeatedEvents implements Disposable {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #counted = new Map<string, Counted>();
  readonly #allowed: TokenBuckets;

  /** @param intervalMs the time for which repeats are counted; other values are for tests */
  constructor(clock: Clock, intervalMs = INTERVAL_MS) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#allowed = new TokenBuckets({ ...EVENTS, clock });
  }

  /**
   * Reports an event, or counts it as a repeat of an event with the same stream and kind that was reported less than a minute ago.
   * @param causer whose allowance of events this one is taken from: a user, or all strangers together
   * @param tell stores the event, now or later; it must not throw
   */
  happened(causer: string, streamId: StreamId, kind: string, tell: (repeats: Repeats) => void): void {
    const key = `${streamId} ${kind}`;
    const at = this.#clock.now();
    const counted = this.#counted.get(key);
    if (counted !== undefined) {
      const { count, from } = counted.repeats ?? { count: 0, from: at };
      counted.repeats = { count: count + 1, from, until: at };
      counted.tell = tell;
      return;
    }
    if (this.#counted.size >= MAX_COUNTED || !this.#allowed.take(causer).allowed) return;
    this.#counted.set(key, { causer, repeats: undefined, tell, timer: this.#later(key) });
    tell({ count: 1, from: at, until: at });
  }

  /** Reports all repeats that are counted so far, and stops counting. */
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
      if (counted?.repeats === undefined || !this.#allowed.take(counted.causer).allowed) {
        this.#counted.delete(key);
        return;
      }
      counted.tell(counted.repeats);
      counted.repeats = undefined;
      counted.timer = this.#later(key);
    }, this.#intervalMs).unref();
  }
}

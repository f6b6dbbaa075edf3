/**
 * The clock by which data is deleted. A clock that is set ahead by mistake, even for a minute, would make everything old enough to be
 * deleted for good.
 */
import type { Clock } from './clock.ts';
import { DAY_MS, HOUR_MS, type Milliseconds, ms } from './units.ts';

/** The largest jump ahead of the clock that is believed at once. */
const BELIEVED_MS = HOUR_MS;
/** How long a larger jump is not believed. The clock also jumps when the machine was suspended. */
const DOUBTED_MS = DAY_MS;

/** The options of a cautious clock. */
export interface CautiousClockOptions {
  readonly clock: Clock;
  /** The time that is believed at the start, from a source other than the clock of this machine, which may be wrong already. */
  readonly startedAt: Milliseconds;
  /** Called once for each jump that is not believed, with its size. */
  readonly onDoubt: (aheadMs: Milliseconds) => void;
}

/** A clock that follows another one. For a day after the other one was set ahead, it goes on as if that had not happened. */
export class CautiousClock implements Clock {
  readonly #options: CautiousClockOptions;
  /** A time that was believed, and the monotonic time at that moment. */
  #believed: { readonly now: number; readonly at: number };
  #doubtedSince: number | undefined;

  constructor(options: CautiousClockOptions) {
    this.#options = options;
    this.#believed = { now: options.startedAt, at: options.clock.monotonic() };
  }

  now(): Milliseconds {
    const { clock, onDoubt } = this.#options;
    const [now, at] = [clock.now(), clock.monotonic()];
    const expected = this.#believed.now + at - this.#believed.at;
    const isAhead = now - expected > BELIEVED_MS;
    if (isAhead && this.#doubtedSince === undefined) {
      this.#doubtedSince = at;
      onDoubt(ms(now - expected));
    }
    if (isAhead && at - (this.#doubtedSince ?? at) < DOUBTED_MS) return ms(expected);
    this.#doubtedSince = undefined;
    this.#believed = { now, at };
    return now;
  }

  /** How far the machine's clock is ahead of this one, in milliseconds. Undefined while the machine's clock is believed. */
  get doubtedMs(): Milliseconds | undefined {
    const aheadMs = this.#options.clock.now() - this.now();
    return aheadMs > BELIEVED_MS ? ms(aheadMs) : undefined;
  }

  monotonic(): Milliseconds {
    return this.#options.clock.monotonic();
  }
}

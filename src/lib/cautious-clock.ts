/**
 * The clock by which data is deleted. A clock that is set ahead by mistake, even for a minute, would make everything old enough to be
 * deleted for good.
 */
import type { Clock } from './clock.ts';
import { type Milliseconds, ms } from './units.ts';

/** By how much a clock may be set ahead at once and is believed. */
const BELIEVED_MS = 3_600_000;
/** How long a clock that was set ahead further is not believed. A machine that was suspended also shows such a clock. */
const DOUBTED_MS = 86_400_000;

/** The options of a cautious clock. */
export interface CautiousClockOptions {
  readonly clock: Clock;
  /** The time of another clock when this one is made. The clock of the machine may be wrong from the start. */
  readonly startedAt: Milliseconds;
  /** Called once when the clock is ahead of what is believed, with the difference. */
  readonly onDoubt: (aheadMs: Milliseconds) => void;
}

/** A clock whose time is that of another clock, except for a day after that was set ahead: then the time goes on as it did before. */
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

  monotonic(): Milliseconds {
    return this.#options.clock.monotonic();
  }
}

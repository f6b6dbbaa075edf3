/**
 * A clock that stands still until a test moves it, and timers that follow this clock.
 */
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';

/** A clock and timers under a test's control. */
export class SteppedTime {
  #now: number;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  constructor(now = Date.now()) {
    this.#now = now;
  }

  readonly clock: Clock = { now: () => ms(this.#now), monotonic: () => ms(this.#now) };

  /** Calls a function once, when the test has moved the time that far. */
  readonly later = (delayMs: number, run: () => void): Disposable => {
    const timer = { at: this.#now + delayMs, run };
    this.#timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers = this.#timers.filter((each) => each !== timer);
      },
    };
  };

  /** Moves the time, timer by timer. @param settle waits until what a timer began is over */
  async advance(durationMs: number, settle: () => Promise<void>): Promise<void> {
    const until = this.#now + durationMs;
    for (;;) {
      await settle();
      const next = this.#timers.toSorted((one, other) => one.at - other.at)[0];
      if (next === undefined || next.at > until) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = until;
    await settle();
  }
}

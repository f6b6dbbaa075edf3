/**
 * The only file that reads the system's clocks, so that tests can hold time still.
 */
import type { Milliseconds } from './units.ts';

/** A wall clock and a monotonic clock. */
export interface Clock {
  /** Wall clock: milliseconds since the Unix epoch. May step when the machine's time is set. */
  now(): Milliseconds;
  /** Monotonic: milliseconds since an arbitrary start, with fractions. Never steps. */
  monotonic(): Milliseconds;
}

/** The machine's clocks. */
export const systemClock: Clock = {
  now: () => Date.now() as Milliseconds,
  monotonic: () => performance.now() as Milliseconds,
};

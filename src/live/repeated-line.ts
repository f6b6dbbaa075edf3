/**
 * A log line about something that may happen again and again.
 */
import type { Clock } from '#lib/clock.ts';

/** The same is told once in this time at most. */
const EVERY_MS = 1000;

/** Tells what happens at once the first time, and then at most once a second, with how often it has happened since it was told last. */
export class RepeatedLine<Fields extends object> {
  readonly #clock: Clock;
  readonly #tell: (fields: Fields & { readonly count: number }) => void;
  #count = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  /** @param tell writes the line */
  constructor(clock: Clock, tell: (fields: Fields & { readonly count: number }) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** It has happened once more. @param fields of this time */
  happened(fields: Fields): void {
    this.#count += 1;
    const now = this.#clock.monotonic();
    if (now - this.#toldAt < EVERY_MS) return;
    this.#tell({ ...fields, count: this.#count });
    this.#count = 0;
    this.#toldAt = now;
  }
}

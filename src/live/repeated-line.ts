/**
 * Limits how often the same log line is written.
 */
import type { Clock } from '#lib/clock.ts';

/** The shortest time between two lines. */
const EVERY_MS = 1000;

/** Writes a log line at the first event, and then at most once a second, with the number of events since the previous line. */
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

  /** Counts an event, and writes the line when it is due. @param fields the fields of this event, written with the line */
  happened(fields: Fields): void {
    this.#count += 1;
    const now = this.#clock.monotonic();
    if (now - this.#toldAt < EVERY_MS) return;
    this.#tell({ ...fields, count: this.#count });
    this.#count = 0;
    this.#toldAt = now;
  }
}

/**
 * How long to wait before trying again: longer after every failure in a row, up to a limit.
 */
import { type Milliseconds, ms } from './units.ts';

/** The pauses between the attempts at one thing. */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  #nextMs: number;

  /** The pauses double from `firstMs` to `maxMs`. */
  constructor({ firstMs, maxMs }: { firstMs: number; maxMs: number }) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#nextMs = firstMs;
  }

  /** Counts a failure. @returns the pause before the next attempt */
  failed(): Milliseconds {
    const pause = this.#nextMs;
    this.#nextMs = Math.min(pause * 2, this.#maxMs);
    return ms(pause);
  }

  /** Counts a success: the next failure starts at the first pause again. */
  succeeded(): void {
    this.#nextMs = this.#firstMs;
  }
}

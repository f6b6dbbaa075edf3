/**
 * How long to wait before trying again: longer after every failure in a row, up to a limit.
 */
import { type Milliseconds, ms } from './units.ts';

/** The pauses of one thing that is tried again and again. */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  #nextMs: number;

  /** Doubles from `firstMs` to `maxMs`. */
  constructor({ firstMs, maxMs }: { firstMs: number; maxMs: number }) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#nextMs = firstMs;
  }

  /** The pause to keep after one more failure. */
  failed(): Milliseconds {
    const pause = this.#nextMs;
    this.#nextMs = Math.min(pause * 2, this.#maxMs);
    return ms(pause);
  }

  /** It worked: the next failure starts at the first pause again. */
  succeeded(): void {
    this.#nextMs = this.#firstMs;
  }
}

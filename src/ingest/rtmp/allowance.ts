/**
 * Limits how often a peer may do something until its allowance is renewed.
 */
import { RtmpError } from '#media/rtmp/rtmp-error.ts';

/** Counts one thing a peer does. Its owner decides when the allowance is renewed. */
export class Allowance {
  readonly #limit: number;
  readonly #what: string;
  #used = 0;

  /** @param what is counted and until when, for the message of the error: `messages without media in a second` */
  constructor(limit: number, what: string) {
    this.#limit = limit;
    this.#what = what;
  }

  /**
   * Counts something the peer did.
   * @param count how often the peer did it, or by how much more than one it counts
   * @throws {RtmpError} `flood` when the allowance is used up
   */
  use(count = 1): void {
    this.#used += count;
    if (this.#used > this.#limit) throw new RtmpError('flood', `more than ${this.#limit} ${this.#what}`);
  }

  /** Makes the whole allowance available again. */
  renew(): void {
    this.#used = 0;
  }
}

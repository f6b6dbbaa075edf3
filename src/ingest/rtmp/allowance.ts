/**
 * What a peer may do so often in a second.
 */
import { RtmpError } from './rtmp-error.ts';

/** Counts one thing a peer does. Its owner tells it when a second has passed. */
export class Allowance {
  readonly #limit: number;
  readonly #what: string;
  #used = 0;

  /** @param what is counted, for the message of the error: `messages without media` */
  constructor(limit: number, what: string) {
    this.#limit = limit;
    this.#what = what;
  }

  /** It was done once more. @throws {RtmpError} `flood` when that is too often */
  use(): void {
    this.#used += 1;
    if (this.#used > this.#limit) throw new RtmpError('flood', `more than ${this.#limit} ${this.#what} in a second`);
  }

  /** A second has passed. */
  renew(): void {
    this.#used = 0;
  }
}

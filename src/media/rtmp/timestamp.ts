/**
 * Converts RTMP's 32-bit milliseconds into a time that does not wrap.
 */

/**
 * Undoes the wrap after 49.7 days. All tracks of a publish share one, so that they agree on when the wrap happened.
 *
 * The difference between two timestamps is taken to be the shorter one of the two that are possible, so that a step back, which occurs
 * between interleaved tracks, stays a step back.
 */
export class TimestampUnwrapper {
  #last: number | undefined;

  /**
   * @param timestamp unsigned, 32 bits
   * @returns milliseconds by the publisher's clock; negative when the timestamps go back across the wrap at the beginning
   */
  unwrap(timestamp: number): number {
    this.#last = this.#last === undefined ? timestamp : this.#last + ((timestamp - this.#last) | 0);
    return this.#last;
  }
}

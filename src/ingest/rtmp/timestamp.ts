/**
 * RTMP's 32-bit milliseconds, made into a time that does not wrap.
 */

/**
 * Undoes the wrap after 49.7 days. One for all tracks of a publish, so that they agree on which side of it they are.
 *
 * The step from one timestamp to the next is taken the short way round: a step back, as between interleaved tracks,
 * stays one.
 */
export class TimestampUnwrapper {
  #last: number | undefined;

  /**
   * @param timestamp unsigned, 32 bits
   * @returns milliseconds in the publisher's clock; below 0 when one of the first went back across the wrap
   */
  unwrap(timestamp: number): number {
    this.#last = this.#last === undefined ? timestamp : this.#last + ((timestamp - this.#last) | 0);
    return this.#last;
  }
}

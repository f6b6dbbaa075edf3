/**
 * Random numbers that depend only on a seed, so that every run can be repeated.
 */

/** The generator sfc32, which is fast and has a far longer period than any run needs. */
export class Random {
  #a: number;
  #b = 0x9e3779b9 | 0;
  #c = 0x243f6a88;
  #counter = 1;

  /** @param seed any whole number; its lower 32 bits count */
  constructor(seed: number) {
    this.#a = seed | 0;
    for (let round = 0; round < 12; round++) this.uint32();
  }

  /** The next number from 0 to 2^32 - 1. */
  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** The next number from 0 up to, but not including, `limit`; `limit` is at least 1. */
  below(limit: number): number {
    return this.uint32() % limit;
  }

  /** A random element of a list that is not empty. */
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

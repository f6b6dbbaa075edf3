/**
 * The input being read, in memory that another thread can look at: when reading never ends, or takes all memory, the input is known.
 */

const COUNT = 0;
const LENGTH = 1;
const HEADER_BYTES = 8;

/** One place for an input. Written by the thread that reads inputs, looked at by the one that watches it. */
export class WatchedInput {
  readonly memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #bytes: Uint8Array;

  /** @param memory of one made in the other thread; new where it is left out */
  constructor(maxBytes: number, memory = new SharedArrayBuffer(HEADER_BYTES + maxBytes)) {
    this.memory = memory;
    this.#header = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, HEADER_BYTES);
  }

  /** Takes note of the next input. */
  note(input: Uint8Array): void {
    this.#bytes.set(input);
    this.#header[LENGTH] = input.length;
    Atomics.add(this.#header, COUNT, 1);
  }

  /** How many inputs there were; wraps after 2^32. */
  get count(): number {
    return Atomics.load(this.#header, COUNT) >>> 0;
  }

  /** A copy of the last one. */
  get input(): Buffer {
    return Buffer.from(this.#bytes.slice(0, this.#header[LENGTH]));
  }
}

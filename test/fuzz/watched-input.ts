/**
 * Keeps the input that is being read in memory that another thread can see: when reading never ends or exhausts the memory, the input is
 * known.
 */

const COUNT = 0;
const LENGTH = 1;
const HEADER_BYTES = 8;

/** Holds one input. The thread that reads inputs writes it, and the thread that watches that one reads it. */
export class WatchedInput {
  readonly memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #bytes: Uint8Array;

  /** @param memory that of the object in the other thread; new memory when left out */
  constructor(maxBytes: number, memory = new SharedArrayBuffer(HEADER_BYTES + maxBytes)) {
    this.memory = memory;
    this.#header = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, HEADER_BYTES);
  }

  /** Stores the next input. */
  note(input: Uint8Array): void {
    this.#bytes.set(input);
    this.#header[LENGTH] = input.length;
    Atomics.add(this.#header, COUNT, 1);
  }

  /** How many inputs were stored; wraps after 2^32. */
  get count(): number {
    return Atomics.load(this.#header, COUNT) >>> 0;
  }

  /** A copy of the input that was stored last. */
  get input(): Buffer {
    return Buffer.from(this.#bytes.slice(0, this.#header[LENGTH]));
  }
}

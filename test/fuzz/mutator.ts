/**
 * Makes new inputs out of known ones, by small random changes and by changes to lengths, which parsers trust most.
 */
import type { Random } from './random.ts';

/** Bytes at which parsers often branch: zero, sign bits, and ends of ranges. */
const TELLING_BYTES = [
  0, 1, 2, 3, 0x0f, 0x10, 0x1f, 0x20, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xf0, 0xfe, 0xff,
] as const;
const TELLING_NUMBERS = [
  0, 1, 0x7f, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0xffffff, 0x7fffffff, 0x80000000, 0xffffffff,
] as const;
/** Most inputs are changed in one to four places, and a few in many places, to get past checks that depend on each other. */
const MOST_CHANGES = 4;
const MANY_CHANGES = 24;
/** The longest run of bytes that is inserted, copied or removed at once in most cases. */
const SHORT_RUN = 16;

/** What a mutator works with. */
export interface MutatorOptions {
  readonly random: Random;
  /** Sequences of bytes that mean something to the parser. */
  readonly dictionary: readonly Uint8Array[];
  /** The longest input that it makes. */
  readonly maxBytes: number;
}

/** Mutates inputs, all in one buffer that is used again and again. */
export class Mutator {
  readonly #random: Random;
  readonly #dictionary: readonly Uint8Array[];
  readonly #bytes: Buffer;
  #length = 0;
  readonly #changes: readonly (() => void)[];

  constructor({ random, dictionary, maxBytes }: MutatorOptions) {
    this.#random = random;
    this.#dictionary = dictionary;
    // Memory of its own: in Node's shared pool a parser that reads past its input would find other data.
    this.#bytes = Buffer.alloc(maxBytes);
    this.#changes = [
      () => this.#flipBit(),
      () => this.#flipBit(),
      () => this.#setByte(random.below(256)),
      () => this.#setByte(random.of(TELLING_BYTES)),
      () => this.#addToByte(),
      () => this.#setNumber(random.of(TELLING_NUMBERS)),
      () => this.#setNumber(this.#lengthFromHere()),
      () => this.#truncate(),
      () => this.#remove(),
      () => this.#insertCopy(),
      () => this.#insertRun(),
      ...(dictionary.length === 0
        ? []
        : [() => this.#insertToken(), () => this.#insertToken(), () => this.#overwriteToken()]),
    ];
  }

  /**
   * Returns a changed copy of `parent`, sometimes with a part of `other` in it.
   * @returns a view of a buffer that the next call overwrites
   */
  mutate(parent: Uint8Array, other: Uint8Array): Buffer {
    const random = this.#random;
    this.#length = Math.min(parent.length, this.#bytes.length);
    this.#bytes.set(parent.subarray(0, this.#length));
    if (random.below(8) === 0) this.#crossWith(other);
    const changes = 1 + random.below(random.below(16) === 0 ? MANY_CHANGES : MOST_CHANGES);
    for (let change = 0; change < changes; change++) random.of(this.#changes)();
    return this.#bytes.subarray(0, this.#length);
  }

  /** Replaces the end by the end of another input, or inserts a piece of it. */
  #crossWith(other: Uint8Array): void {
    if (other.length === 0) return;
    const from = this.#random.below(other.length);
    if (this.#random.below(2) === 0) {
      const at = this.#place();
      this.#length = at + this.#copyIn(other.subarray(from), at);
    } else {
      this.#insert(this.#place(), other.subarray(from, from + 1 + this.#random.below(other.length - from)));
    }
  }

  #flipBit(): void {
    if (this.#length > 0) this.#bytes[this.#random.below(this.#length)]! ^= 1 << this.#random.below(8);
  }

  #setByte(value: number): void {
    if (this.#length > 0) this.#bytes[this.#random.below(this.#length)] = value;
  }

  #addToByte(): void {
    if (this.#length > 0) this.#bytes[this.#random.below(this.#length)]! += this.#random.below(33) - 16;
  }

  /** Writes the low 1 to 4 bytes of a number, in either byte order. */
  #setNumber(value: number): void {
    const size = 1 + this.#random.below(4);
    if (this.#length < size) return;
    const at = this.#random.below(this.#length - size + 1);
    const reversed = this.#random.below(4) === 0;
    for (let index = 0; index < size; index++) {
      this.#bytes[at + (reversed ? index : size - 1 - index)] = value >>> (8 * index);
    }
  }

  /** A number that may be the length of the bytes that follow, or nearly that. */
  #lengthFromHere(): number {
    return Math.max(0, this.#random.below(this.#length + 1) + this.#random.below(5) - 2);
  }

  #truncate(): void {
    // Only in one of four calls, because short inputs fail early.
    if (this.#random.below(4) === 0) this.#length = this.#place();
  }

  #remove(): void {
    if (this.#length === 0) return;
    const at = this.#random.below(this.#length);
    const end = Math.min(this.#length, at + this.#runLength());
    this.#bytes.copyWithin(at, end, this.#length);
    this.#length -= end - at;
  }

  /** Inserts a copy of a run of bytes in the same place or elsewhere. */
  #insertCopy(): void {
    if (this.#length === 0) return;
    const from = this.#random.below(this.#length);
    const run = Uint8Array.prototype.slice.call(this.#bytes, from, Math.min(this.#length, from + this.#runLength()));
    this.#insert(this.#random.below(2) === 0 ? from : this.#place(), run);
  }

  /** Inserts a run of one repeated byte, at which quadratic loops and loops that count zeros become slow. */
  #insertRun(): void {
    const value = this.#random.below(2) === 0 ? this.#random.of(TELLING_BYTES) : this.#random.below(256);
    const at = this.#place();
    const end = Math.min(this.#makeRoom(at, this.#runLength()), this.#length);
    this.#bytes.fill(value, at, end);
  }

  #insertToken(): void {
    this.#insert(this.#place(), this.#random.of(this.#dictionary));
  }

  #overwriteToken(): void {
    const at = this.#place();
    this.#length = Math.max(this.#length, at + this.#copyIn(this.#random.of(this.#dictionary), at));
  }

  #insert(at: number, bytes: Uint8Array): void {
    const end = this.#makeRoom(at, bytes.length);
    this.#bytes.set(bytes.subarray(0, end - at), at);
  }

  /** Moves the bytes from `at` on by `count`, as far as there is room. @returns where the free bytes end */
  #makeRoom(at: number, count: number): number {
    const end = Math.min(this.#bytes.length, at + count);
    this.#bytes.copyWithin(end, at, this.#length);
    this.#length = Math.min(this.#bytes.length, this.#length + end - at);
    return end;
  }

  /** Overwrites bytes from `at` on. @returns how many bytes there was room for */
  #copyIn(bytes: Uint8Array, at: number): number {
    const count = Math.min(bytes.length, this.#bytes.length - at);
    this.#bytes.set(bytes.subarray(0, count), at);
    return count;
  }

  /** A random position, the end included. */
  #place(): number {
    return this.#random.below(this.#length + 1);
  }

  #runLength(): number {
    return 1 + this.#random.below(this.#random.below(64) === 0 ? this.#bytes.length : SHORT_RUN);
  }
}

/**
 * The numbers, texts and bytes of which the records of an index consist, and the header before each record: the length of what follows the
 * header, in 32 bits, and the CRC-32 of it. Nothing here knows what a record means.
 */
import { crc32 } from 'node:zlib';

/** The bytes before the body of a record: its length and its CRC. */
export const HEADER_BYTES = 8;
/**
 * The longest record. A part has at most 500 samples, and an init segment is a little longer than the publisher's decoder configuration.
 */
export const MAX_RECORD_BYTES = 1 << 20;
/** The most bytes of a number. */
export const LONGEST_NUMBER = 8;

/** Writes whole numbers from 0 to 2^53 - 1 as LEB128: seven bits in each byte, the lowest first. */
export class NumberWriter {
  readonly #to: Buffer;
  #at = HEADER_BYTES;

  /** @param capacity the most bytes that will be written */
  constructor(capacity: number) {
    this.#to = Buffer.allocUnsafe(HEADER_BYTES + capacity);
  }

  number(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#to[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#to[this.#at++] = rest;
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    this.#to.set(value, this.#at);
    this.#at += value.length;
  }

  text(value: string): void {
    this.bytes(Buffer.from(value));
  }

  /**
   * Everything that was written, with the header before it. A view of the writer's memory.
   * @throws {RangeError} when it is longer than {@link MAX_RECORD_BYTES}
   */
  withHeader(): Uint8Array {
    const body = this.#to.subarray(HEADER_BYTES, this.#at);
    if (body.length > MAX_RECORD_BYTES) throw new RangeError(`A record of an index cannot have ${body.length} bytes.`);
    this.#to.writeUInt32BE(body.length, 0);
    this.#to.writeUInt32BE(crc32(body), 4);
    return this.#to.subarray(0, this.#at);
  }
}

/** Reads what {@link NumberWriter} wrote. When the bytes end too early, it returns zeros and truncated values, and `isTorn` becomes true. */
export class NumberReader {
  readonly #from: Uint8Array;
  #at = 0;
  #end = 0;
  #isTorn = false;

  constructor(from: Uint8Array) {
    this.#from = from;
  }

  /** Begins to read a record, which has the bytes from `at` to `end`. Reading beyond `end` makes `isTorn` true. */
  moveTo(at: number, end: number): void {
    this.#at = at;
    this.#end = end;
    this.#isTorn = false;
  }

  /** Whether something was missing. */
  get isTorn(): boolean {
    return this.#isTorn || this.#at > this.#end;
  }

  /** Whether everything was read and nothing was missing. */
  get isAtEnd(): boolean {
    return !this.#isTorn && this.#at === this.#end;
  }

  get remaining(): number {
    return Math.max(0, this.#end - this.#at);
  }

  number(): number {
    const first = this.#from[this.#at];
    if (first !== undefined && first < 128) {
      this.#at += 1;
      return first;
    }
    let value = 0;
    let unit = 1;
    for (let count = 0; count < LONGEST_NUMBER; count++) {
      const byte = this.#from[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value += (byte % 128) * unit;
      if (byte < 128) return value;
      unit *= 128;
    }
    this.#isTorn = true;
    return 0;
  }

  /**
   * Reads numbers into a column, from `first` to `end`. An index of four hours has millions, nearly all of two or three bytes, so those are
   * read without a call for each.
   */
  column(to: Uint32Array | Int32Array, first: number, end: number): void {
    const from = this.#from;
    let at = this.#at;
    for (let index = first; index < end; index++) {
      const one = from[at]!;
      const two = from[at + 1]!;
      const three = from[at + 2]!;
      // Of bytes after the end, which are undefined, no comparison is true.
      if (one < 128) {
        to[index] = one;
        at += 1;
      } else if (two < 128) {
        to[index] = (one & 127) | (two << 7);
        at += 2;
      } else if (three < 128) {
        to[index] = (one & 127) | ((two & 127) << 7) | (three << 14);
        at += 3;
      } else {
        this.#at = at;
        to[index] = this.number();
        at = this.#at;
      }
    }
    this.#at = at;
  }

  /** Skips numbers. */
  skip(count: number): void {
    const from = this.#from;
    let at = this.#at;
    let left = count;
    for (; left > 0 && at < from.length; at++) if (from[at]! < 128) left -= 1;
    if (left > 0) this.#isTorn = true;
    this.#at = at;
  }

  /** Reads numbers. @returns their sum */
  sum(count: number): number {
    const from = this.#from;
    let sum = 0;
    for (let left = count; left > 0; left--) {
      const one = from[this.#at]!;
      const two = from[this.#at + 1]!;
      if (one >= 128 && two < 128) {
        sum += (one & 127) | (two << 7);
        this.#at += 2;
      } else sum += this.number();
    }
    return sum;
  }

  bytes(): Uint8Array {
    const sizeBytes = this.number();
    if (sizeBytes > this.remaining) this.#isTorn = true;
    const until = this.#at + Math.min(sizeBytes, this.remaining);
    // These bytes are copied, because a view of them would keep the whole file in memory. `slice` of a Buffer makes no copy.
    const value = new Uint8Array(this.#from.subarray(this.#at, until));
    this.#at = until;
    return value;
  }

  text(): string {
    return Buffer.from(this.bytes()).toString();
  }
}

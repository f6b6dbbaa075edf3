/**
 * Reads the bit fields that decoder configurations are made of, most significant bit first.
 */
import { InvalidCodecConfigError } from './invalid-codec-config.ts';

/** Reads untrusted bytes bit by bit. No read goes past their end, and a number has at most 32 bits. */
export class BitReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #position = 0;

  /** @param what names the bytes in error messages: `SPS` */
  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  /** Bits not read yet. */
  get remaining(): number {
    return this.#bytes.length * 8 - this.#position;
  }

  /**
   * Reads an unsigned number.
   * @param count number of bits, 0 to 32
   * @throws {InvalidCodecConfigError} when fewer bits are left
   */
  bits(count: number): number {
    this.#need(count);
    let value = 0;
    for (let left = count; left > 0; ) {
      const free = 8 - (this.#position & 7);
      const taken = Math.min(free, left);
      const byte = this.#bytes[this.#position >> 3] as number;
      // Multiplied and not shifted, because a shift makes 32-bit values negative.
      value = value * 2 ** taken + ((byte >> (free - taken)) & (2 ** taken - 1));
      this.#position += taken;
      left -= taken;
    }
    return value;
  }

  /** Reads one bit. @throws {InvalidCodecConfigError} when none is left */
  flag(): boolean {
    return this.bits(1) === 1;
  }

  /** Skips any number of bits. @throws {InvalidCodecConfigError} when fewer bits are left */
  skip(count: number): void {
    this.#need(count);
    this.#position += count;
  }

  /** Skips the bits up to the next byte boundary. */
  align(): void {
    this.#position = (this.#position + 7) & ~7;
  }

  /**
   * Reads an unsigned Exp-Golomb number, `ue(v)` (ITU-T H.264 §9.1).
   * @throws {InvalidCodecConfigError} when the bits end, or the number does not fit 32 bits
   */
  ue(): number {
    let zeros = 0;
    while (!this.flag()) {
      zeros += 1;
      if (zeros > 31) throw new InvalidCodecConfigError(`The ${this.#what} holds a number of more than 32 bits.`);
    }
    return 2 ** zeros - 1 + this.bits(zeros);
  }

  /** Reads a signed Exp-Golomb number, `se(v)` (ITU-T H.264 §9.1.1). @throws as {@link BitReader.ue} */
  se(): number {
    const code = this.ue();
    return code % 2 === 1 ? (code + 1) / 2 : -(code / 2);
  }

  #need(count: number): void {
    if (count > this.remaining) {
      throw new InvalidCodecConfigError(
        `The ${this.#what} of ${this.#bytes.length} bytes ends in the middle of a field.`,
      );
    }
  }
}

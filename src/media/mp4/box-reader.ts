/**
 * Reads the fields of MP4 boxes (ISO/IEC 14496-12 §4.2) one after another, and never beyond the end of a box.
 */
import { MalformedMp4Error } from './malformed-mp4.ts';

/** The length of a box's header, which is its size and its type. */
export const BOX_HEADER_BYTES = 8;

/** Reads boxes from bytes that may be damaged. It does not copy the bytes. */
export class BoxReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, from = 0, until: number = bytes.length) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#at = from;
    this.#end = until;
  }

  /** The number of bytes that are not read yet. */
  get remaining(): number {
    return this.#end - this.#at;
  }

  /** The position of the next field in the bytes. */
  get position(): number {
    return this.#at;
  }

  /** Reads an unsigned 16-bit number. @throws {MalformedMp4Error} when fewer bytes are left */
  u16(): number {
    return this.#view.getUint16(this.#take(2));
  }

  /** Reads an unsigned 32-bit number. @throws {MalformedMp4Error} when fewer bytes are left */
  u32(): number {
    return this.#view.getUint32(this.#take(4));
  }

  /** Reads a signed 32-bit number. @throws {MalformedMp4Error} when fewer bytes are left */
  i32(): number {
    return this.#view.getInt32(this.#take(4));
  }

  /** Reads an unsigned 64-bit number. @throws {MalformedMp4Error} when fewer bytes are left, or the number is above 2^53 - 1 */
  u64(): number {
    const value = this.u32() * 2 ** 32 + this.u32();
    if (Number.isSafeInteger(value)) return value;
    throw new MalformedMp4Error('A number of 64 bits is too large.');
  }

  /** Skips bytes. @throws {MalformedMp4Error} when fewer are left */
  skip(count: number): void {
    this.#take(count);
  }

  /**
   * Reads the header of the next box, and skips the box. The result has its bytes, and a reader of its content.
   * @param type the only type that is accepted. Without it, every type is
   * @throws {MalformedMp4Error} when the box has another type, or is longer than the bytes that are left
   */
  box(type?: string): { readonly type: string; readonly bytes: Uint8Array; readonly content: BoxReader } {
    const from = this.#at;
    const sizeBytes = this.u32();
    const found = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + this.#take(4), 4).toString('latin1');
    if (type !== undefined && found !== type) throw new MalformedMp4Error(`The box '${type}' is missing.`);
    if (sizeBytes < BOX_HEADER_BYTES) throw new MalformedMp4Error(`A box states a size of ${sizeBytes} bytes.`);
    this.#take(sizeBytes - BOX_HEADER_BYTES);
    return {
      type: found,
      bytes: this.#bytes.subarray(from, this.#at),
      content: new BoxReader(this.#bytes, from + BOX_HEADER_BYTES, this.#at),
    };
  }

  #take(count: number): number {
    const at = this.#at;
    if (count > this.#end - at) throw new MalformedMp4Error('The bytes end in the middle of a box.');
    this.#at = at + count;
    return at;
  }
}

/**
 * Builds MP4 boxes from a tree of pieces (ISO/IEC 14496-12 §4.2). Each piece has its size, so a tree is written into one allocation.
 */

/** Content of an MP4 file whose size is known before it is written. */
export interface Piece {
  readonly sizeBytes: number;
  /** Writes exactly `sizeBytes` bytes at `offset`, and nothing elsewhere. */
  write(to: Buffer, offset: number): void;
}

/** Unsigned bytes. */
export const u8 = (...values: readonly number[]): Piece =>
  numbers(1, values, (to, value, at) => to.writeUInt8(value, at));

/** Unsigned 16-bit numbers. */
export const u16 = (...values: readonly number[]): Piece =>
  numbers(2, values, (to, value, at) => to.writeUInt16BE(value, at));

/** Unsigned 32-bit numbers. */
export const u32 = (...values: readonly number[]): Piece =>
  numbers(4, values, (to, value, at) => to.writeUInt32BE(value, at));

/** An unsigned 64-bit number, at most 2^53 - 1. */
export const u64 = (value: number): Piece => u32(Math.floor(value / 2 ** 32), value % 2 ** 32);

/** Zeroes: reserved and predefined fields. */
export const zeros = (count: number): Piece => ({
  sizeBytes: count,
  write: (to, offset) => void to.fill(0, offset, offset + count),
});

/** ASCII text, without a length or a terminating zero. */
export const ascii = (value: string): Piece => ({
  sizeBytes: value.length,
  write: (to, offset) => void to.write(value, offset, 'latin1'),
});

/** Bytes as they are. */
export const bytes = (value: Uint8Array): Piece => ({
  sizeBytes: value.length,
  write: (to, offset) => to.set(value, offset),
});

/** Joins pieces, one after another, into one. */
export function sequence(pieces: readonly Piece[]): Piece {
  let sizeBytes = 0;
  for (const piece of pieces) sizeBytes += piece.sizeBytes;
  return {
    sizeBytes,
    write(to, offset) {
      let at = offset;
      for (const piece of pieces) {
        piece.write(to, at);
        at += piece.sizeBytes;
      }
    },
  };
}

/** A box: its size, its type of four characters, and its content. */
export function box(type: string, ...pieces: readonly Piece[]): Piece {
  const body = sequence(pieces);
  return sequence([u32(8 + body.sizeBytes), ascii(type), body]);
}

/** A box with a version and 24 bits of flags. */
export function fullBox(type: string, version: number, flags: number, ...pieces: readonly Piece[]): Piece {
  return box(type, u32(version * 2 ** 24 + flags), ...pieces);
}

/** Writes pieces one after another into a new buffer of exactly their size. */
export function serialize(...pieces: readonly Piece[]): Uint8Array<ArrayBuffer> {
  const all = sequence(pieces);
  // Not from Buffer's pool, of which a part would keep 8 kB alive for long. Not zeroed, because every byte is written.
  const to = Buffer.allocUnsafeSlow(all.sizeBytes);
  all.write(to, 0);
  return to;
}

function numbers(
  width: number,
  values: readonly number[],
  put: (to: Buffer, value: number, at: number) => unknown,
): Piece {
  return {
    sizeBytes: values.length * width,
    write(to, offset) {
      for (const [index, value] of values.entries()) put(to, value, offset + index * width);
    },
  };
}

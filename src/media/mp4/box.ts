/**
 * MP4 boxes as a tree of small pieces (ISO/IEC 14496-12 §4.2): each knows its size, so a tree is written into one allocation.
 */

/** Something that can be written into an MP4 file and knows its size before. */
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

/** An unsigned 64-bit number; up to 2^53 as JavaScript counts. */
export const u64 = (value: number): Piece => u32(Math.floor(value / 2 ** 32), value % 2 ** 32);

/** Zeroes: reserved and predefined fields. */
export const zeros = (count: number): Piece => ({
  sizeBytes: count,
  write: (to, offset) => void to.fill(0, offset, offset + count),
});

/** ASCII text, without a length or an end. */
export const text = (value: string): Piece => ({
  sizeBytes: value.length,
  write: (to, offset) => void to.write(value, offset, 'latin1'),
});

/** Bytes as they are. */
export const bytes = (value: Uint8Array): Piece => ({
  sizeBytes: value.length,
  write: (to, offset) => to.set(value, offset),
});

/** Pieces behind one another, as one. */
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

/** A box: its size, its type of four characters, and what is in it. */
export function box(type: string, ...pieces: readonly Piece[]): Piece {
  const body = sequence(pieces);
  return sequence([u32(8 + body.sizeBytes), text(type), body]);
}

/** A box with a version and 24 bits of flags. */
export function fullBox(type: string, version: number, flags: number, ...pieces: readonly Piece[]): Piece {
  return box(type, u32(version * 2 ** 24 + flags), ...pieces);
}

/** Writes pieces behind one another into memory of their own. */
export function serialize(...pieces: readonly Piece[]): Uint8Array {
  const all = sequence(pieces);
  // Not from Buffer's pool: a part lives long and would keep 8 kB of strangers alive. Not zeroed: every byte is written.
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

/**
 * A frame's number and the time at which it was drawn, burned into the frame so that they survive encoding, scaling and a screen: large
 * black and white cells in two rows along the top edge. A decoder, or a canvas in a browser, can read which frame it is and how old it is.
 */

/** Cells in a row. A cell is a fortieth of the width, which is 16 pixels at 640: large enough to survive H.264 at low bitrates. */
export const CODE_COLUMNS = 40;
/** Rows of cells. */
export const CODE_ROWS = 2;

const COUNTER_BITS = 24;
const TIME_BITS = 44;

/** The code in a frame. */
export interface FrameCode {
  /** Number of the frame since its publisher started, from 0; wraps at 2^24. */
  readonly counter: number;
  /** When it was drawn: milliseconds since the Unix epoch. */
  readonly drawnAtMs: number;
}

/** Pixels as a decoder's luma plane (`pixelStride` 1) or a canvas' RGBA (`pixelStride` 4, the red channel is read) gives them. */
export interface Pixels {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  /** Bytes from one line to the next. */
  readonly lineStride: number;
  readonly pixelStride: number;
}

/**
 * Draws the code into a luma plane, limited range (black 16, white 235).
 * @param plane at least `width / 20` lines of `lineStride` bytes; changed in place
 * @param width at least 320 pixels, for cells of 8 or more
 */
export function drawFrameCode(plane: Uint8Array, width: number, lineStride: number, code: FrameCode): void {
  const cell = width / CODE_COLUMNS;
  const bits = [...toBits(code.counter % 2 ** COUNTER_BITS, COUNTER_BITS), ...toBits(code.drawnAtMs, TIME_BITS)];
  const cells = [...bits, ...toBits(checksum(bits), 12)];
  for (let row = 0; row < CODE_ROWS; row += 1) {
    const top = Math.round(row * cell) * lineStride;
    for (let column = 0; column < CODE_COLUMNS; column += 1) {
      const luma = cells[row * CODE_COLUMNS + column] === 1 ? 235 : 16;
      plane.fill(luma, top + Math.round(column * cell), top + Math.round((column + 1) * cell));
    }
    for (let line = Math.round(row * cell) + 1; line < Math.round((row + 1) * cell); line += 1) {
      plane.copyWithin(line * lineStride, top, top + width);
    }
  }
}

function toBits(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor(value / 2 ** (count - 1 - index)) % 2);
}

/** CRC-12 that starts at ones, so that neither a black nor a white strip is a code. */
function checksum(bits: readonly number[]): number {
  return bits.reduce((crc, bit) => ((crc << 1) & 0xfff) ^ (((crc >> 11) ^ bit) === 1 ? 0x80f : 0), 0xfff);
}

/**
 * Reads the code at any size of the frame.
 *
 * The function refers to nothing outside itself, so that a browser can run its source text, `String(readFrameCode)`.
 * @returns undefined when the frame has no code, or is too blurred
 */
export function readFrameCode(pixels: Pixels): FrameCode | undefined {
  const columns = 40;
  const cell = pixels.width / columns;
  const bits: number[] = [];
  for (let index = 0; index < columns * 2; index += 1) {
    // Nine samples around the middle, because edges ring, and scaling moves them.
    let sum = 0;
    for (let sample = 0; sample < 9; sample += 1) {
      const x = Math.floor(((index % columns) + 0.35 + 0.15 * (sample % 3)) * cell);
      const y = Math.floor((Math.floor(index / columns) + 0.35 + 0.15 * Math.floor(sample / 3)) * cell);
      sum += pixels.data[y * pixels.lineStride + x * pixels.pixelStride] ?? 0;
    }
    bits.push(sum > 9 * 127 ? 1 : 0);
  }
  const number = (from: number, to: number) => bits.slice(from, to).reduce((value, bit) => value * 2 + bit, 0);
  const crc = bits
    .slice(0, 68)
    .reduce((value, bit) => ((value << 1) & 0xfff) ^ (((value >> 11) ^ bit) === 1 ? 0x80f : 0), 0xfff);
  return crc === number(68, 80) ? { counter: number(0, 24), drawnAtMs: number(24, 68) } : undefined;
}

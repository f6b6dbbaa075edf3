/**
 * NAL units as MP4 and FLV store them, each preceded by its length (ISO/IEC 14496-15 §5.3.4.2).
 */
import { MalformedAccessUnitError } from './malformed-access-unit.ts';

/** The most NAL units of one access unit. A picture of H.265 has at most 600 slices (ITU-T H.265 Table A.8), a picture of H.264 fewer. */
const MAX_NAL_UNITS = 4096;

/**
 * Finds the NAL units of one access unit, in order. Empty ones are skipped.
 * @param lengthSize size of each length in bytes, from the track's configuration: 1, 2 or 4
 * @param visit called with the positions in `data` where each NAL unit starts and ends, and not with a view of it, because the views would
 *   be most of the garbage that a packet leaves
 * @throws {MalformedAccessUnitError} when a NAL unit runs past the end, or there are too many
 */
export function visitNalUnits(data: Uint8Array, lengthSize: number, visit: (start: number, end: number) => void): void {
  let at = 0;
  for (let count = 0; at < data.length; count++) {
    if (count === MAX_NAL_UNITS) {
      throw new MalformedAccessUnitError(`The access unit has more than ${MAX_NAL_UNITS} NAL units.`);
    }
    const start = at + lengthSize;
    if (start > data.length) throw new MalformedAccessUnitError('The access unit ends within a NAL unit length.');
    let length = 0;
    for (; at < start; at++) length = length * 256 + data[at]!;
    const end = start + length;
    if (end > data.length) {
      throw new MalformedAccessUnitError(
        `A NAL unit states ${length} bytes where ${data.length - start} bytes are left in the access unit.`,
      );
    }
    if (length > 0) visit(start, end);
    at = end;
  }
}

/** Joins NAL units, each preceded by its length. @param lengthSize size of each length in bytes: 1, 2 or 4 */
export function withLengths(nals: readonly Uint8Array[], lengthSize: number): Uint8Array {
  const pieces = nals.map((nal) => {
    const length = Buffer.alloc(lengthSize);
    length.writeUIntBE(nal.length, 0, lengthSize);
    return Buffer.concat([length, nal]);
  });
  return Buffer.concat(pieces);
}

/**
 * Removes the emulation prevention bytes from a NAL unit, `00 00 03` -> `00 00` (ITU-T H.264 §7.3.1).
 * @returns the same bytes when there is nothing to remove
 */
export function withoutEmulationPrevention(nal: Uint8Array): Uint8Array {
  const out = new Uint8Array(nal.length);
  let length = 0;
  let zeros = 0;
  for (const byte of nal) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    out[length++] = byte;
  }
  return length === nal.length ? nal : out.subarray(0, length);
}

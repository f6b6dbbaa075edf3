/**
 * Reads open bitstream units (OBUs), the elements of AV1 (AV1 Bitstream & Decoding Process Specification §5.3).
 */
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';

/** The types of OBU that are read (§6.2.2). */
export const OBU = {
  sequenceHeader: 1,
  temporalDelimiter: 2,
  frameHeader: 3,
  frame: 6,
  redundantFrameHeader: 7,
} as const;

/** One OBU, as views of the bytes it was read from. */
export interface Obu {
  readonly type: number;
  /** The temporal and spatial layer it belongs to. 0 when it states none (§5.3.3). */
  readonly temporalId: number;
  readonly spatialId: number;
  /** The bytes after header and size. */
  readonly payload: Uint8Array;
  /** The whole OBU, with header and size. */
  readonly whole: Uint8Array;
}

/** The most OBUs of one temporal unit. A frame has 4096 tiles at most, and few encoders give each an OBU of its own. */
const MAX_OBUS = 4096;
/** The longest leb128() (§4.10.5). */
const MAX_LEB128_BYTES = 8;

/**
 * Yields the OBUs of a sample or configuration record, in order. The last may leave out its size, and then extends to the end.
 * @throws {MalformedAccessUnitError} when an OBU is broken or runs past the end, or there are too many
 */
export function* obus(data: Uint8Array): Generator<Obu, void, undefined> {
  let count = 0;
  for (let start = 0; start < data.length; ) {
    count += 1;
    if (count > MAX_OBUS) throw new MalformedAccessUnitError(`The access unit has more than ${MAX_OBUS} OBUs.`);
    const header = data[start]!;
    if ((header & 0x80) !== 0) throw new MalformedAccessUnitError('An OBU has its forbidden bit set.');
    const hasExtension = (header & 0x04) !== 0;
    const hasSize = (header & 0x02) !== 0;
    const sizeAt = start + (hasExtension ? 2 : 1);
    if (sizeAt > data.length) throw new MalformedAccessUnitError('The access unit ends within an OBU header.');
    const { value, end: payloadAt } = hasSize ? leb128(data, sizeAt) : { value: data.length - sizeAt, end: sizeAt };
    const end = payloadAt + value;
    if (end > data.length) {
      throw new MalformedAccessUnitError(
        `An OBU states ${value} bytes where ${data.length - payloadAt} bytes are left in the access unit.`,
      );
    }
    const extension = hasExtension ? data[start + 1]! : 0;
    yield {
      type: (header >> 3) & 0x0f,
      temporalId: extension >> 5,
      spatialId: (extension >> 3) & 3,
      payload: data.subarray(payloadAt, end),
      whole: data.subarray(start, end),
    };
    start = end;
  }
}

/** Reads a number in groups of seven bits, the lowest first. */
function leb128(data: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < MAX_LEB128_BYTES; index++) {
    const byte = data[start + index];
    if (byte === undefined) throw new MalformedAccessUnitError('The access unit ends within the size of an OBU.');
    value += (byte & 0x7f) * 2 ** (7 * index);
    if ((byte & 0x80) === 0) return { value, end: start + index + 1 };
  }
  throw new MalformedAccessUnitError(`The size of an OBU takes more than ${MAX_LEB128_BYTES} bytes.`);
}

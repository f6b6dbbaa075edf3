/**
 * Rewrites parameter sets to state another size, as an attacker who wants to exhaust a decoder would.
 */
import { withoutEmulationPrevention } from '#media/nal.ts';

interface Size {
  readonly width: number;
  readonly height: number;
}

const bitsOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');

const bytesOf = (bits: string): number[] =>
  bits.match(/.{1,8}/g)!.map((octet) => Number.parseInt(octet.padEnd(8, '0'), 2));

const ue = (value: number): string => {
  const bits = (value + 1).toString(2);
  return '0'.repeat(bits.length - 1) + bits;
};

const macroblocks = ({ width, height }: Size): string => ue(Math.ceil(width / 16) - 1) + ue(Math.ceil(height / 16) - 1);

function replaced(bits: string, from: string, to: string): string {
  const [before, after, ...more] = bits.split(from);
  if (after === undefined || more.length > 0)
    throw new Error('the parameter set does not contain the size exactly once');
  return before + to + after;
}

/** Replaces a size in a NAL unit, whose first `headerBytes` stay as they are. */
function resizedNal(nal: Uint8Array, headerBytes: number, from: string, to: string): Uint8Array {
  const payload = bitsOf(withoutEmulationPrevention(nal.subarray(headerBytes)));
  const out = [...nal.subarray(0, headerBytes)];
  for (const byte of bytesOf(replaced(payload, from, to).replace(/0*$/, ''))) {
    if (out.at(-1) === 0 && out.at(-2) === 0 && byte < 4) out.push(3);
    out.push(byte);
  }
  return Uint8Array.from(out);
}

/** An H.264 SPS of frames, not fields, that states another size. */
export function resizedAvcSps(nal: Uint8Array, from: Size, to: Size): Uint8Array {
  return resizedNal(nal, 1, macroblocks(from), macroblocks(to));
}

/** An H.265 SPS that states another size. */
export function resizedHevcSps(nal: Uint8Array, from: Size, to: Size): Uint8Array {
  return resizedNal(nal, 2, ue(from.width) + ue(from.height), ue(to.width) + ue(to.height));
}

/** The payload of an AV1 sequence header that states another largest size. */
export function resizedSequence(payload: Uint8Array, from: Size, to: Size): Uint8Array {
  const field = (value: number, bits: number) => value.toString(2).padStart(bits, '0');
  const size = ({ width, height }: Size) => {
    const bits = [width - 1, height - 1].map((side) => side.toString(2).length);
    return field(bits[0]! - 1, 4) + field(bits[1]! - 1, 4) + field(width - 1, bits[0]!) + field(height - 1, bits[1]!);
  };
  return Uint8Array.from(bytesOf(replaced(bitsOf(payload), size(from), size(to))));
}

/** Makes one access unit of NAL units, each preceded by its length in four bytes. */
export function accessUnit(...nals: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    nals.flatMap((nal) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(nal.length);
      return [length, nal];
    }),
  );
}

/** Makes an OBU with its size, which is written in as many bytes as it takes (LEB128). */
export function obuOf(type: number, payload: Uint8Array): Uint8Array {
  const size: number[] = [];
  for (let rest = payload.length; size.length === 0 || rest > 0; rest = Math.floor(rest / 128)) {
    size.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
  }
  return Uint8Array.from([(type << 3) | 2, ...size, ...payload]);
}

/** The NAL units of an access unit, as views of its bytes. */
import { visitNalUnits } from '#media/nal.ts';

/** Returns the NAL units of an access unit, in order. See {@link visitNalUnits}. */
export function nalUnits(data: Uint8Array, lengthSize: number): readonly Uint8Array[] {
  const nals: Uint8Array[] = [];
  visitNalUnits(data, lengthSize, (start, end) => nals.push(data.subarray(start, end)));
  return nals;
}

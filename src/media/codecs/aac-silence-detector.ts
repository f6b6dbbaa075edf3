/**
 * Recognises digital silence in the bitstream of AAC-LC, without decoding it (ISO/IEC 14496-3 §4.4.2). A frame is silent when all bands of
 * all channels have codebook 0, so that every coefficient is zero. This is how encoders write silence. With a constant bitrate they add
 * padding.
 */
import { BitReader } from '#media/bit-reader.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';

/** Syntactic elements (Table 4.85). */
const [SCE, CPE, , LFE, DSE, , FIL, END] = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const EIGHT_SHORT_SEQUENCE = 2;
/** The most elements of a frame that are read. */
const MAX_ELEMENTS = 16;

/** Whether a raw AAC frame is silent. False also for a frame that is broken or uses coding tools that silence does not need. */
export function isSilentAac(frame: Uint8Array): boolean {
  try {
    return hasOnlySilence(new BitReader(frame, 'AAC frame'));
  } catch (error) {
    if (error instanceof InvalidCodecConfigError) return false;
    throw error;
  }
}

function hasOnlySilence(bits: BitReader): boolean {
  let channels = 0;
  for (let elements = 0; elements < MAX_ELEMENTS; elements += 1) {
    switch (bits.bits(3)) {
      case SCE:
      case LFE:
        bits.skip(4);
        if (!isSilentChannel(bits, undefined)) return false;
        channels += 1;
        break;
      case CPE:
        if (!isSilentPair(bits)) return false;
        channels += 2;
        break;
      case DSE:
        skipData(bits);
        break;
      case FIL:
        skipFill(bits);
        break;
      case END:
        return channels > 0;
      default:
        return false;
    }
  }
  return false;
}

/** The layout of a window, which the channels of a pair may share. */
interface Window {
  readonly isShort: boolean;
  readonly groups: number;
  readonly bands: number;
}

function isSilentPair(bits: BitReader): boolean {
  bits.skip(4);
  const window = bits.flag() ? readWindow(bits) : undefined;
  if (window === 'unknown') return false;
  if (window !== undefined) {
    const midSide = bits.bits(2);
    if (midSide === 3) return false; // reserved
    if (midSide === 1) bits.skip(window.groups * window.bands);
  }
  return isSilentChannel(bits, window) && isSilentChannel(bits, window);
}

/** `ics_info()`. Prediction is not part of AAC-LC. */
function readWindow(bits: BitReader): Window | 'unknown' {
  bits.skip(1);
  const isShort = bits.bits(2) === EIGHT_SHORT_SEQUENCE;
  bits.skip(1);
  const bands = bits.bits(isShort ? 4 : 6);
  if (!isShort) return bits.flag() ? 'unknown' : { isShort, groups: 1, bands };
  // A set bit puts a window into the group of the window before it.
  const grouping = bits.bits(7);
  const joined = grouping.toString(2).replaceAll('0', '').length;
  return { isShort, groups: 8 - joined, bands };
}

/** `individual_channel_stream()` up to the coefficients, of which a silent channel has none. */
function isSilentChannel(bits: BitReader, shared: Window | undefined): boolean {
  bits.skip(8); // global gain
  const window = shared ?? readWindow(bits);
  if (window === 'unknown') return false;
  const lengthBits = window.isShort ? 3 : 5;
  const more = 2 ** lengthBits - 1;
  for (let group = 0; group < window.groups; group += 1) {
    for (let band = 0; band < window.bands; ) {
      const codebook = bits.bits(4);
      if (codebook !== 0) return false;
      let length = 0;
      for (let part = more; part === more; length += part) part = bits.bits(lengthBits);
      if (length === 0) return false;
      band += length;
    }
  }
  const [hasPulses, hasNoiseShaping, hasGainControl] = [bits.flag(), bits.flag(), bits.flag()];
  return !hasPulses && !hasNoiseShaping && !hasGainControl;
}

/** `data_stream_element()` */
function skipData(bits: BitReader): void {
  bits.skip(4);
  const isAligned = bits.flag();
  const count = bits.bits(8);
  const more = count === 255 ? bits.bits(8) : 0;
  if (isAligned) bits.align();
  bits.skip((count + more) * 8);
}

/** `fill_element()` */
function skipFill(bits: BitReader): void {
  const count = bits.bits(4);
  const more = count === 15 ? bits.bits(8) - 1 : 0;
  bits.skip((count + more) * 8);
}

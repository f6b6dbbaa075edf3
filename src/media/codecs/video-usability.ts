/**
 * Reads the first half of the video usability information (VUI), which states how frames are displayed and is the same for H.264 and H.265
 * (ITU-T H.264 §E.1.1, H.265 §E.2.1).
 */
import type { BitReader } from '#media/bit-reader.ts';

/** A ratio of width to height. */
export interface Ratio {
  readonly width: number;
  readonly height: number;
}

/** The colour description of a video, by code points (ITU-T H.273). */
export interface Colour {
  readonly primaries: number;
  readonly transfer: number;
  readonly matrix: number;
  readonly fullRange: boolean;
}

/** How frames are displayed, as far as the bitstream states it. */
export interface Usability {
  /** Undefined when the bitstream does not state it. Samples then count as square. */
  readonly sampleAspectRatio: Ratio | undefined;
  /** Undefined when the bitstream does not state it. */
  readonly colour: Colour | undefined;
}

/** Table E-1 of either standard, from aspect_ratio_idc 1. */
const SAMPLE_ASPECT_RATIOS: readonly (readonly [width: number, height: number])[] = [
  [1, 1],
  [12, 11],
  [10, 11],
  [16, 11],
  [40, 33],
  [24, 11],
  [20, 11],
  [32, 11],
  [80, 33],
  [18, 11],
  [15, 11],
  [64, 33],
  [160, 99],
  [4, 3],
  [3, 2],
  [2, 1],
];
const EXTENDED_SAR = 255;

/**
 * Reads the usability information through the chroma locations, after which the two codecs differ.
 * @throws {InvalidCodecConfigError} when it ends early
 */
export function readUsability(reader: BitReader): Usability {
  const sampleAspectRatio = reader.flag() ? readSampleAspectRatio(reader) : undefined;
  if (reader.flag()) reader.skip(1); // overscan_appropriate_flag
  const colour = reader.flag() ? readColour(reader) : undefined;
  if (reader.flag()) {
    reader.ue(); // chroma_sample_loc_type_top_field
    reader.ue(); // chroma_sample_loc_type_bottom_field
  }
  return { sampleAspectRatio, colour };
}

function readSampleAspectRatio(reader: BitReader): Ratio | undefined {
  const idc = reader.bits(8);
  const [width, height] =
    idc === EXTENDED_SAR ? [reader.bits(16), reader.bits(16)] : (SAMPLE_ASPECT_RATIOS[idc - 1] ?? [0, 0]);
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function readColour(reader: BitReader): Colour | undefined {
  reader.skip(3); // video_format
  const fullRange = reader.flag();
  if (!reader.flag()) return undefined;
  return { primaries: reader.bits(8), transfer: reader.bits(8), matrix: reader.bits(8), fullRange };
}

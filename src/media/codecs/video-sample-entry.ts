/**
 * Writes the sample entry of a video track, which differs between codecs only by the configuration (ISO/IEC 14496-12 §12.1.3). Derives the
 * display width and the dynamic range of a track.
 */
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { ascii, box, bytes, type Piece, u8, u16, u32, zeros } from '#media/mp4/box.ts';
import type { VideoRange, VideoTrack } from '#media/track.ts';
import type { Colour, Ratio, Usability } from './video-usability.ts';

/** The length of the fields of a video sample entry between its header and its boxes. */
export const VIDEO_FIELDS_BYTES = 78;

/** The longest side that `tkhd` can state, in pixels. */
const MAX_DISPLAY_SIDE = 0xffff;

/** Code points of transfer functions (ITU-T H.273) that HLS has a name for (rfc8216bis §4.4.6.2, VIDEO-RANGE). */
const RANGES: Readonly<Record<number, VideoRange>> = {
  1: 'SDR',
  6: 'SDR',
  13: 'SDR',
  14: 'SDR',
  15: 'SDR',
  16: 'PQ',
  18: 'HLG',
};

/** The names of the sample entry and of the configuration box inside it. */
export interface VideoBoxes {
  readonly entry: string;
  readonly configuration: string;
}

/**
 * The sample entry of a track. It has `colr` when the bitstream states colours, and `pasp` when it states samples that are not square.
 * @param config the body of the configuration box
 */
export function videoSampleEntry(
  { entry, configuration }: VideoBoxes,
  { codedWidth, codedHeight }: VideoTrack,
  config: Uint8Array,
  { colour, sampleAspectRatio }: Usability,
): Piece {
  return box(
    entry,
    zeros(6),
    u16(1), // data_reference_index
    zeros(16),
    u16(codedWidth, codedHeight),
    u32(0x00480000, 0x00480000), // 72 dpi
    zeros(4),
    u16(1), // frame_count
    zeros(32), // compressorname
    u16(0x0018, 0xffff), // depth, pre_defined
    box(configuration, bytes(config)),
    ...(colour === undefined ? [] : [colourBox(colour)]),
    ...(sampleAspectRatio === undefined || sampleAspectRatio.width === sampleAspectRatio.height
      ? []
      : [pixelAspectRatio(sampleAspectRatio)]),
  );
}

/**
 * The width at which frames are displayed, in pixels.
 * @param ratio sample aspect ratio; square when undefined
 * @throws {InvalidCodecConfigError} when no track can have that width
 */
export function displayWidth(codedWidth: number, ratio: Ratio = { width: 1, height: 1 }): number {
  const width = Math.round((codedWidth * ratio.width) / ratio.height);
  if (width >= 1 && width <= MAX_DISPLAY_SIDE) return width;
  throw new InvalidCodecConfigError(
    `The SPS states a sample aspect ratio of ${ratio.width}:${ratio.height}, which makes frames ${width} pixels wide.`,
  );
}

/** The dynamic range of a video. Undefined when the bitstream does not state it, or HLS has no name for it. */
export function videoRangeOf(colour: Colour | undefined): VideoRange | undefined {
  return colour && RANGES[colour.transfer];
}

/** The `colr` box (ISO/IEC 14496-12 §12.1.5). */
function colourBox({ primaries, transfer, matrix, fullRange }: Colour): Piece {
  return box('colr', ascii('nclx'), u16(primaries, transfer, matrix), u8(fullRange ? 0x80 : 0));
}

/** The `pasp` box (ISO/IEC 14496-12 §12.1.4). */
function pixelAspectRatio({ width, height }: Ratio): Piece {
  return box('pasp', u32(width, height));
}

/**
 * The part of a sample entry that is the same for every video codec (ISO/IEC 14496-12 §12.1.3), and what a track's picture
 * is derived from.
 */
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { box, bytes, type Piece, text, u8, u16, u32, zeros } from '#media/mp4/box.ts';
import type { VideoRange, VideoTrack } from '#media/track.ts';
import type { Colour, Ratio, Usability } from './video-usability.ts';

/** `tkhd` has 16 bits for the pixels of a side. */
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

/** Names of the two boxes that say how to decode a track. */
export interface VideoBoxes {
  readonly entry: string;
  readonly configuration: string;
}

/**
 * The sample entry of a track, with `pasp` and `colr` where its bitstream says something worth repeating.
 * @param config the configuration's body as it is to be written
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
 * The width at which a picture is displayed.
 * @param ratio of a sample; undefined is square
 * @throws {InvalidCodecConfigError} when no track can be that wide
 */
export function displayWidth(codedWidth: number, ratio: Ratio = { width: 1, height: 1 }): number {
  const width = Math.round((codedWidth * ratio.width) / ratio.height);
  if (width >= 1 && width <= MAX_DISPLAY_SIDE) return width;
  throw new InvalidCodecConfigError(
    `The SPS states a sample aspect ratio of ${ratio.width}:${ratio.height}, which makes the picture ${width} pixels wide.`,
  );
}

/** What a picture's light values mean, where its bitstream says so and HLS has a name for it. */
export function videoRangeOf(colour: Colour | undefined): VideoRange | undefined {
  return colour && RANGES[colour.transfer];
}

/** ISO/IEC 14496-12 §12.1.5. */
function colourBox({ primaries, transfer, matrix, fullRange }: Colour): Piece {
  return box('colr', text('nclx'), u16(primaries, transfer, matrix), u8(fullRange ? 0x80 : 0));
}

/** ISO/IEC 14496-12 §12.1.4. */
function pixelAspectRatio({ width, height }: Ratio): Piece {
  return box('pasp', u32(width, height));
}

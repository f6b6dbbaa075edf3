/**
 * The sequence header of AV1: what a video is, as its own bitstream says (AV1 specification §5.5).
 */
import { BitReader } from '#media/bit-reader.ts';
import { believableRate } from '#media/frame-rate.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import type { Colour } from './video-usability.ts';

/** What Millrace needs of a sequence header. */
export interface SequenceHeader {
  readonly profile: number;
  /** Of the first operating point, which holds everything. */
  readonly levelIndex: number;
  readonly highTier: boolean;
  readonly bitDepth: 8 | 10 | 12;
  readonly monochrome: boolean;
  readonly subsamplingX: boolean;
  readonly subsamplingY: boolean;
  readonly chromaSamplePosition: number;
  /** Undefined where the bitstream does not say. */
  readonly colour: Colour | undefined;
  /** Largest frame, in pixels. */
  readonly width: number;
  readonly height: number;
  /** Frames per second; undefined where the bitstream does not say, or says nonsense. */
  readonly frameRate: number | undefined;
}

/** Code points for colours nobody has named (ITU-T H.273). */
export const UNSPECIFIED = { primaries: 2, transfer: 2, matrix: 2 } as const;
/** Code points of sRGB, which implies that nothing is subsampled (§5.5.2). */
const SRGB = { primaries: 1, transfer: 13, matrix: 0 } as const;

/**
 * Reads a sequence header, as far as the colours.
 * @param payload of the OBU
 * @throws {InvalidCodecConfigError} when it ends early or is that of a still picture
 */
export function parseSequenceHeader(payload: Uint8Array): SequenceHeader {
  const reader = new BitReader(payload, 'sequence header');
  const profile = reader.bits(3);
  if (profile > 2) throw new InvalidCodecConfigError(`The sequence header states profile ${profile}; they end at 2.`);
  reader.skip(1); // still_picture
  if (reader.flag()) throw new InvalidCodecConfigError('The sequence header is that of a still picture.');
  const timing = reader.flag() ? readTiming(reader) : { frameRate: undefined, delayBits: 0 };
  const { levelIndex, highTier } = readOperatingPoints(reader, timing.delayBits);
  const widthBits = reader.bits(4) + 1;
  const heightBits = reader.bits(4) + 1;
  const width = reader.bits(widthBits) + 1;
  const height = reader.bits(heightBits) + 1;
  if (width > 0xffff || height > 0xffff) {
    throw new InvalidCodecConfigError(
      `The sequence header states ${width}x${height} pixels; a track has 16 bits for each.`,
    );
  }
  skipTools(reader);
  const colours = readColours(reader, profile);
  return { profile, levelIndex, highTier, ...colours, width, height, frameRate: timing.frameRate };
}

/** §5.5.3 and §5.5.4. `delayBits`: length of the delays that operating points state; 0 where they state none. */
function readTiming(reader: BitReader): { frameRate: number | undefined; delayBits: number } {
  const unitsInTick = reader.bits(32);
  const timeScale = reader.bits(32);
  const ticksPerPicture = reader.flag() ? reader.ue() + 1 : undefined; // uvlc() is Exp-Golomb
  const frameRate = ticksPerPicture && believableRate(timeScale / unitsInTick / ticksPerPicture);
  if (!reader.flag()) return { frameRate, delayBits: 0 };
  const delayBits = reader.bits(5) + 1;
  reader.skip(32 + 5 + 5); // decoding tick, lengths of fields of frame headers
  return { frameRate, delayBits };
}

function readOperatingPoints(reader: BitReader, delayBits: number): Pick<SequenceHeader, 'levelIndex' | 'highTier'> {
  const hasInitialDelay = reader.flag();
  const points = reader.bits(5) + 1;
  let first: Pick<SequenceHeader, 'levelIndex' | 'highTier'> | undefined;
  for (let point = 0; point < points; point++) {
    reader.skip(12); // operating_point_idc
    const levelIndex = reader.bits(5);
    const highTier = levelIndex > 7 && reader.flag();
    if (delayBits > 0 && reader.flag()) reader.skip(2 * delayBits + 1); // operating_parameters_info
    if (hasInitialDelay && reader.flag()) reader.skip(4);
    first ??= { levelIndex, highTier };
  }
  return first!;
}

/** Everything between the size and the colours. */
function skipTools(reader: BitReader): void {
  if (reader.flag()) reader.skip(4 + 3); // frame id lengths
  reader.skip(3); // superblock size, filter intra, intra edge filter
  reader.skip(4); // compounds, warped motion, dual filter
  const hasOrderHint = reader.flag();
  if (hasOrderHint) reader.skip(2); // jnt_comp, ref_frame_mvs
  const chosenPerFrame = reader.flag(); // seq_choose_screen_content_tools
  const mayHaveScreenContent = chosenPerFrame || reader.flag();
  if (mayHaveScreenContent && !reader.flag()) reader.skip(1); // seq_force_integer_mv
  if (hasOrderHint) reader.skip(3); // order_hint_bits_minus_1
  reader.skip(3); // superres, cdef, restoration
}

/** §5.5.2 */
function readColours(reader: BitReader, profile: number) {
  const highBitDepth = reader.flag();
  const twelveBit = profile === 2 && highBitDepth && reader.flag();
  const bitDepth = twelveBit ? 12 : highBitDepth ? 10 : 8;
  const monochrome = profile !== 1 && reader.flag();
  const points = reader.flag()
    ? { primaries: reader.bits(8), transfer: reader.bits(8), matrix: reader.bits(8) }
    : undefined;
  const isSrgb =
    points?.primaries === SRGB.primaries && points.transfer === SRGB.transfer && points.matrix === SRGB.matrix;
  const fullRange = !monochrome && isSrgb ? true : reader.flag();
  const [subsamplingX, subsamplingY] = monochrome
    ? [true, true]
    : isSrgb
      ? [false, false]
      : readSubsampling(reader, profile, bitDepth);
  const chromaSamplePosition = !monochrome && subsamplingX && subsamplingY ? reader.bits(2) : 0;
  const colour = points || fullRange ? { ...UNSPECIFIED, ...points, fullRange } : undefined;
  return { bitDepth, monochrome, subsamplingX, subsamplingY, chromaSamplePosition, colour } as const;
}

function readSubsampling(reader: BitReader, profile: number, bitDepth: number): readonly [x: boolean, y: boolean] {
  if (profile === 0) return [true, true];
  if (profile === 1) return [false, false];
  if (bitDepth !== 12) return [true, false];
  const x = reader.flag();
  return [x, x && reader.flag()];
}

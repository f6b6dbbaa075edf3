/**
 * Reads the sequence header of AV1, which describes the video (AV1 specification §5.5).
 */
import { BitReader } from '#media/bit-reader.ts';
import { believableRate } from '#media/frame-rate.ts';
import { assertFrameSize } from '#media/frame-size.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import type { Colour } from './video-usability.ts';

/** The fields of a sequence header that Millrace uses. */
export interface SequenceHeader {
  readonly profile: number;
  /** The level of the first operating point, which includes all layers. */
  readonly levelIndex: number;
  readonly highTier: boolean;
  readonly bitDepth: 8 | 10 | 12;
  readonly monochrome: boolean;
  readonly subsamplingX: boolean;
  readonly subsamplingY: boolean;
  readonly chromaSamplePosition: number;
  /** Undefined when the bitstream does not state it. */
  readonly colour: Colour | undefined;
  /** The size of the largest frame, in pixels. */
  readonly width: number;
  readonly height: number;
  /** Frames per second. Undefined when the bitstream states none, or an implausible number. */
  readonly frameRate: number | undefined;
  /** How the frame headers of the sequence must be read. */
  readonly frameHeaders: FrameHeaderLayout;
}

/** Which fields the frame headers of a sequence have, and how many bits each field takes (§5.9.2). */
export interface FrameHeaderLayout {
  /** The bits of a width and a height, which a frame may state to differ from the sequence. */
  readonly widthBits: number;
  readonly heightBits: number;
  /** The bits of a frame id, and of the difference between two frame ids. 0 when frames have no ids. */
  readonly frameIdBits: number;
  readonly frameIdDifferenceBits: number;
  /** The bits of an order hint, a frame's place in display order. 0 when frames have no order hints. */
  readonly orderHintBits: number;
  /** Whether all frames may use screen content tools. Undefined when each frame states it. */
  readonly screenContent: boolean | undefined;
  /** Whether each frame with screen content tools states if its motion vectors are integers. */
  readonly choosesIntegerMotion: boolean;
  /** The bits of a shown frame's presentation time. 0 when frames do not state one. */
  readonly presentationTimeBits: number;
  /** The bits of a buffer removal time. Undefined when the sequence has no decoder model. */
  readonly removalTimeBits: number | undefined;
  /** The layers of each operating point that has a decoder model, as a bit mask (operating_point_idc). */
  readonly modelledPoints: readonly number[];
}

/** Code points of unspecified colours (ITU-T H.273). */
export const UNSPECIFIED = { primaries: 2, transfer: 2, matrix: 2 } as const;
/** Code points of sRGB, which implies that nothing is subsampled (§5.5.2). */
const SRGB = { primaries: 1, transfer: 13, matrix: 0 } as const;

/**
 * Reads a sequence header through the colours.
 * @param payload the payload of the OBU
 * @throws {InvalidCodecConfigError} when it ends early, describes a still picture, or states too large a frame
 */
export function parseSequenceHeader(payload: Uint8Array): SequenceHeader {
  const reader = new BitReader(payload, 'sequence header');
  const profile = reader.bits(3);
  if (profile > 2)
    throw new InvalidCodecConfigError(`The sequence header states profile ${profile}; the highest is 2.`);
  reader.skip(1); // still_picture
  if (reader.flag()) throw new InvalidCodecConfigError('The sequence header describes a still picture.');
  const timing = reader.flag() ? readTiming(reader) : NO_TIMING;
  const { levelIndex, highTier, modelledPoints } = readOperatingPoints(reader, timing.model);
  const widthBits = reader.bits(4) + 1;
  const heightBits = reader.bits(4) + 1;
  const width = reader.bits(widthBits) + 1;
  const height = reader.bits(heightBits) + 1;
  assertFrameSize('The sequence header', width, height);
  const tools = readTools(reader);
  const colours = readColours(reader, profile);
  const { frameRate, presentationTimeBits, model } = timing;
  const times = { presentationTimeBits, removalTimeBits: model?.removalTimeBits, modelledPoints };
  const frameHeaders = { widthBits, heightBits, ...tools, ...times };
  return { profile, levelIndex, highTier, ...colours, width, height, frameRate, frameHeaders };
}

/** The lengths of the fields that a sequence with a decoder model has in addition. */
interface DecoderModel {
  readonly delayBits: number;
  readonly removalTimeBits: number;
}

interface Timing {
  readonly frameRate: number | undefined;
  readonly presentationTimeBits: number;
  readonly model: DecoderModel | undefined;
}

const NO_TIMING: Timing = { frameRate: undefined, presentationTimeBits: 0, model: undefined };

/** Reads timing_info() (§5.5.3) and decoder_model_info() (§5.5.4). */
function readTiming(reader: BitReader): Timing {
  const unitsInTick = reader.bits(32);
  const timeScale = reader.bits(32);
  const ticksPerPicture = reader.flag() ? reader.ue() + 1 : undefined; // uvlc() is Exp-Golomb
  const frameRate = ticksPerPicture && believableRate(timeScale / unitsInTick / ticksPerPicture);
  if (!reader.flag()) return { ...NO_TIMING, frameRate };
  const delayBits = reader.bits(5) + 1;
  reader.skip(32); // decoding tick
  const removalTimeBits = reader.bits(5) + 1;
  const timeBits = reader.bits(5) + 1;
  // Frames at equal intervals do not state when they are presented.
  const presentationTimeBits = ticksPerPicture === undefined ? timeBits : 0;
  return { frameRate, presentationTimeBits, model: { delayBits, removalTimeBits } };
}

type OperatingPoints = Pick<SequenceHeader, 'levelIndex' | 'highTier'> & Pick<FrameHeaderLayout, 'modelledPoints'>;

function readOperatingPoints(reader: BitReader, model: DecoderModel | undefined): OperatingPoints {
  const hasInitialDelay = reader.flag();
  const points = reader.bits(5) + 1;
  const modelledPoints: number[] = [];
  let first: Pick<SequenceHeader, 'levelIndex' | 'highTier'> | undefined;
  for (let point = 0; point < points; point++) {
    const layers = reader.bits(12); // operating_point_idc
    const levelIndex = reader.bits(5);
    const highTier = levelIndex > 7 && reader.flag();
    if (model !== undefined && reader.flag()) {
      modelledPoints.push(layers);
      reader.skip(2 * model.delayBits + 1); // operating_parameters_info
    }
    if (hasInitialDelay && reader.flag()) reader.skip(4);
    first ??= { levelIndex, highTier };
  }
  return { ...first!, modelledPoints };
}

type Tools = Pick<
  FrameHeaderLayout,
  'frameIdBits' | 'frameIdDifferenceBits' | 'orderHintBits' | 'screenContent' | 'choosesIntegerMotion'
>;

/** Reads the fields between the size and the colours, which turn coding tools on and off. */
function readTools(reader: BitReader): Tools {
  const hasFrameIds = reader.flag();
  const frameIdDifferenceBits = hasFrameIds ? reader.bits(4) + 2 : 0;
  const frameIdBits = hasFrameIds ? frameIdDifferenceBits + reader.bits(3) + 1 : 0;
  reader.skip(3); // superblock size, filter intra, intra edge filter
  reader.skip(4); // compounds, warped motion, dual filter
  const hasOrderHint = reader.flag();
  if (hasOrderHint) reader.skip(2); // jnt_comp, ref_frame_mvs
  const chosenPerFrame = reader.flag(); // seq_choose_screen_content_tools
  const screenContent = chosenPerFrame ? undefined : reader.flag();
  const choosesIntegerMotion = screenContent !== false && reader.flag();
  if (screenContent !== false && !choosesIntegerMotion) reader.skip(1); // seq_force_integer_mv
  const orderHintBits = hasOrderHint ? reader.bits(3) + 1 : 0;
  reader.skip(3); // superres, cdef, restoration
  return { frameIdBits, frameIdDifferenceBits, orderHintBits, screenContent, choosesIntegerMotion };
}

/** Reads color_config() (§5.5.2). */
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

/**
 * Reads the sequence parameter set (SPS) of H.264, which describes the video (ITU-T H.264 §7.3.2.1.1 and Annex E).
 */
import { BitReader } from '#media/bit-reader.ts';
import { believableRate } from '#media/frame-rate.ts';
import { assertFrameSize } from '#media/frame-size.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { withoutEmulationPrevention } from '#media/nal.ts';
import { readUsability, type Usability } from './video-usability.ts';

/** The fields of a sequence parameter set that Millrace uses. */
export interface H264Sps extends Usability {
  readonly profileIdc: number;
  /** The byte of constraint flags between profile and level. */
  readonly constraints: number;
  readonly levelIdc: number;
  /** Pixels after cropping. */
  readonly codedWidth: number;
  readonly codedHeight: number;
  /** Frames per second. Undefined when the bitstream states none, or an implausible number. */
  readonly frameRate: number | undefined;
  /**
   * The most frames that precede another one in decoding order and follow it in output order (max_num_reorder_frames). Undefined when the
   * bitstream states none, or a number that the standard does not allow.
   */
  readonly reorderedFrames: number | undefined;
}

/** Profiles whose SPS states its chroma format and bit depth (§7.3.2.1.1). */
const HIGH_PROFILES = new Set([44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244]);

/** Limits of the standard: of a hypothetical decoder's buffers (§E.2.2), and of the frames that a decoder stores (§A.3.1). */
const MAX_CPB_COUNT = 32;
const MAX_DPB_FRAMES = 16;

/**
 * Reads a sequence parameter set.
 * @param nal the NAL unit with its header byte, emulation prevention still in it
 * @throws {InvalidCodecConfigError} when it is not an SPS, ends early, or states too large a frame or values the standard does not have
 */
export function parseH264Sps(nal: Uint8Array): H264Sps {
  if (((nal[0] ?? 0) & 0x1f) !== 7) throw new InvalidCodecConfigError('The first parameter set in avcC is not an SPS.');
  const reader = new BitReader(withoutEmulationPrevention(nal.subarray(1)), 'SPS');
  const profileIdc = reader.bits(8);
  const constraints = reader.bits(8);
  const levelIdc = reader.bits(8);
  reader.ue(); // seq_parameter_set_id
  const chroma = HIGH_PROFILES.has(profileIdc) ? readChroma(reader) : { subWidth: 2, subHeight: 2 };
  reader.ue(); // log2_max_frame_num_minus4
  skipPictureOrder(reader);
  reader.ue(); // max_num_ref_frames
  reader.skip(1); // gaps_in_frame_num_value_allowed_flag
  const size = readSize(reader, chroma);
  const vui = reader.flag() ? readVui(reader) : NO_VUI;
  return { profileIdc, constraints, levelIdc, ...size, ...vui };
}

/** Luma samples per chroma sample in both directions, the unit of the cropping offsets (Table 6-1). */
interface Chroma {
  readonly subWidth: number;
  readonly subHeight: number;
}

function readChroma(reader: BitReader): Chroma {
  const format = reader.ue();
  if (format > 3) throw new InvalidCodecConfigError(`The SPS states chroma_format_idc ${format}; the highest is 3.`);
  if (format === 3) reader.skip(1); // separate_colour_plane_flag: the unit of the cropping offsets is 1 either way
  reader.ue(); // bit_depth_luma_minus8
  reader.ue(); // bit_depth_chroma_minus8
  reader.skip(1); // qpprime_y_zero_transform_bypass_flag
  if (reader.flag()) {
    const lists = format === 3 ? 12 : 8;
    for (let list = 0; list < lists; list++) if (reader.flag()) skipScalingList(reader, list < 6 ? 16 : 64);
  }
  return { subWidth: format === 1 || format === 2 ? 2 : 1, subHeight: format === 1 ? 2 : 1 };
}

/** Skips a scaling list (§7.3.2.1.1.1). A next scale of 0 ends it early. */
function skipScalingList(reader: BitReader, size: number): void {
  let scale = 8;
  for (let at = 0; at < size; at++) {
    scale = (scale + reader.se() + 256) % 256;
    if (scale === 0) return;
  }
}

function skipPictureOrder(reader: BitReader): void {
  const type = reader.ue();
  if (type > 2) throw new InvalidCodecConfigError(`The SPS states pic_order_cnt_type ${type}; the highest is 2.`);
  if (type === 0) reader.ue(); // log2_max_pic_order_cnt_lsb_minus4
  if (type !== 1) return;
  reader.skip(1); // delta_pic_order_always_zero_flag
  reader.se(); // offset_for_non_ref_pic
  reader.se(); // offset_for_top_to_bottom_field
  const cycle = reader.ue();
  if (cycle > 255)
    throw new InvalidCodecConfigError(`The SPS states a picture order cycle of ${cycle}; the highest is 255.`);
  for (let at = 0; at < cycle; at++) reader.se();
}

function readSize(reader: BitReader, chroma: Chroma): Pick<H264Sps, 'codedWidth' | 'codedHeight'> {
  const widthMacroblocks = reader.ue() + 1;
  const mapUnits = reader.ue() + 1;
  const framesOnly = reader.flag();
  if (!framesOnly) reader.skip(1); // mb_adaptive_frame_field_flag
  reader.skip(1); // direct_8x8_inference_flag
  // Without frame_mbs_only_flag, vertical sizes are those of a field, and two fields make a frame (§7.4.2.1.1).
  const fields = framesOnly ? 1 : 2;
  const heightMacroblocks = mapUnits * fields;
  assertFrameSize('The SPS', widthMacroblocks * 16, heightMacroblocks * 16);
  let [left, right, top, bottom] = [0, 0, 0, 0];
  if (reader.flag()) [left, right, top, bottom] = [reader.ue(), reader.ue(), reader.ue(), reader.ue()];
  const codedWidth = widthMacroblocks * 16 - (left + right) * chroma.subWidth;
  const codedHeight = heightMacroblocks * 16 - (top + bottom) * chroma.subHeight * fields;
  if (codedWidth < 1 || codedHeight < 1) throw new InvalidCodecConfigError('The SPS crops the whole frame away.');
  return { codedWidth, codedHeight };
}

type Vui = Usability & Pick<H264Sps, 'frameRate' | 'reorderedFrames'>;

const NO_VUI: Vui = {
  sampleAspectRatio: undefined,
  colour: undefined,
  frameRate: undefined,
  reorderedFrames: undefined,
};

/** Reads the video usability information (§E.1.1). */
function readVui(reader: BitReader): Vui {
  const usability = readUsability(reader);
  const hasTiming = reader.flag();
  const frameRate = hasTiming ? readFrameRate(reader) : undefined;
  return { ...usability, frameRate, reorderedFrames: statedReordering(reader, hasTiming) };
}

function readFrameRate(reader: BitReader): number | undefined {
  const unitsInTick = reader.bits(32);
  const timeScale = reader.bits(32);
  return believableRate(timeScale / (2 * unitsInTick)); // a tick is the duration of a field (§E.2.1)
}

/**
 * Reads what follows the frame rate. Decoders tolerate a VUI that is truncated here, so such an SPS is accepted, and counts as stating no
 * reordered frames.
 */
function statedReordering(reader: BitReader, hasTiming: boolean): number | undefined {
  try {
    if (hasTiming) reader.skip(1); // fixed_frame_rate_flag
    return readReordering(reader);
  } catch (error) {
    if (error instanceof InvalidCodecConfigError) return undefined;
    throw error;
  }
}

function readReordering(reader: BitReader): number | undefined {
  const nal = reader.flag(); // nal_hrd_parameters_present_flag
  if (nal) skipHypotheticalDecoder(reader);
  const vcl = reader.flag(); // vcl_hrd_parameters_present_flag
  if (vcl) skipHypotheticalDecoder(reader);
  if (nal || vcl) reader.skip(1); // low_delay_hrd_flag
  reader.skip(1); // pic_struct_present_flag
  if (!reader.flag()) return undefined; // bitstream_restriction_flag
  reader.skip(1); // motion_vectors_over_pic_boundaries_flag
  for (let field = 0; field < 4; field++) reader.ue(); // sizes of pictures, macroblocks and motion vectors
  const reordered = reader.ue();
  const stored = reader.ue(); // max_dec_frame_buffering
  return reordered <= stored && stored <= MAX_DPB_FRAMES ? reordered : undefined;
}

/** Skips hrd_parameters() (§E.1.2). */
function skipHypotheticalDecoder(reader: BitReader): void {
  const count = reader.ue() + 1;
  if (count > MAX_CPB_COUNT) throw new InvalidCodecConfigError(`The SPS states ${count} coded picture buffers.`);
  reader.skip(8); // bit_rate_scale, cpb_size_scale
  for (let buffer = 0; buffer < count; buffer++) {
    reader.ue(); // bit_rate_value_minus1
    reader.ue(); // cpb_size_value_minus1
    reader.skip(1); // cbr_flag
  }
  reader.skip(20); // lengths of delays and of time offsets
}

/**
 * Reads the sequence parameter set (SPS) of H.265, which describes the video (ITU-T H.265 §7.3.2.2 and Annex E).
 */
import { BitReader } from '#media/bit-reader.ts';
import { believableRate } from '#media/frame-rate.ts';
import { assertFrameSize } from '#media/frame-size.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { withoutEmulationPrevention } from '#media/nal.ts';
import { readUsability, type Usability } from './video-usability.ts';

/** The general profile, tier and level (§7.3.3): what a decoder must be able to do. */
export interface ProfileTierLevel {
  readonly profileSpace: number;
  readonly highTier: boolean;
  readonly profileIdc: number;
  /** 32 flags. The most significant bit is that of profile 0. */
  readonly compatibility: number;
  /** The six bytes of flags between compatibility and level. */
  readonly constraints: readonly number[];
  readonly levelIdc: number;
}

/** The fields of a sequence parameter set that Millrace uses. */
export interface H265Sps extends Usability {
  readonly profile: ProfileTierLevel;
  /** Pixels after cropping. */
  readonly codedWidth: number;
  readonly codedHeight: number;
  /** Frames per second. Undefined when the bitstream states none, or an implausible number. */
  readonly frameRate: number | undefined;
  /**
   * The most frames that precede another one in decoding order and follow it in output order (sps_max_num_reorder_pics). Undefined when
   * the bitstream states a number that the standard does not allow.
   */
  readonly reorderedFrames: number | undefined;
}

const NAL_SPS = 33;
/** Limits of the standard (§7.4.3.2.1). */
const MAX_SHORT_TERM_SETS = 64;
const MAX_LONG_TERM_PICTURES = 32;
/** The most pictures that a decoder stores (§A.4.2). No reference picture set can have more. */
const MAX_REFERENCES = 16;

/**
 * Reads a sequence parameter set.
 * @param nal the NAL unit with its two header bytes, emulation prevention still in it
 * @throws {InvalidCodecConfigError} when it is not an SPS, ends early, or states too large a frame or values the standard does not have
 */
export function parseH265Sps(nal: Uint8Array): H265Sps {
  if ((((nal[0] ?? 0) >> 1) & 0x3f) !== NAL_SPS) {
    throw new InvalidCodecConfigError('A parameter set that hvcC lists as an SPS is not an SPS.');
  }
  const reader = new BitReader(withoutEmulationPrevention(nal.subarray(2)), 'SPS');
  reader.skip(4); // sps_video_parameter_set_id
  const subLayers = reader.bits(3); // sps_max_sub_layers_minus1
  reader.skip(1); // sps_temporal_id_nesting_flag
  const profile = readProfileTierLevel(reader, subLayers);
  reader.ue(); // sps_seq_parameter_set_id
  const size = readSize(reader);
  reader.ue(); // bit_depth_luma_minus8
  reader.ue(); // bit_depth_chroma_minus8
  const pictureOrderBits = reader.ue() + 4;
  if (pictureOrderBits > 16)
    throw new InvalidCodecConfigError('The SPS states picture order counts of more than 16 bits.');
  const reorderedFrames = readReordering(reader, subLayers);
  skipCodingTools(reader);
  skipReferencePictureSets(reader);
  skipLongTermPictures(reader, pictureOrderBits);
  reader.skip(2); // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
  const vui = reader.flag() ? readVui(reader) : NO_VUI;
  return { profile, ...size, ...vui, reorderedFrames };
}

/** Returns how many frames are reordered when all sub-layers are decoded. The last entry states it. Others are for fewer sub-layers. */
function readReordering(reader: BitReader, subLayers: number): number | undefined {
  const entries = reader.flag() ? subLayers + 1 : 1; // sps_sub_layer_ordering_info_present_flag
  let [stored, reordered] = [0, 0];
  for (let entry = 0; entry < entries; entry++) {
    stored = reader.ue(); // sps_max_dec_pic_buffering_minus1
    reordered = reader.ue();
    reader.ue(); // sps_max_latency_increase_plus1
  }
  return reordered <= stored && stored < MAX_REFERENCES ? reordered : undefined;
}

function readProfileTierLevel(reader: BitReader, subLayers: number): ProfileTierLevel {
  const profileSpace = reader.bits(2);
  const highTier = reader.flag();
  const profileIdc = reader.bits(5);
  const compatibility = reader.bits(32);
  const constraints = Array.from({ length: 6 }, () => reader.bits(8));
  const levelIdc = reader.bits(8);
  const present = Array.from({ length: subLayers }, () => ({ profile: reader.flag(), level: reader.flag() }));
  if (subLayers > 0) reader.skip(2 * (8 - subLayers));
  for (const { profile, level } of present) reader.skip((profile ? 88 : 0) + (level ? 8 : 0));
  return { profileSpace, highTier, profileIdc, compatibility, constraints, levelIdc };
}

function readSize(reader: BitReader): Pick<H265Sps, 'codedWidth' | 'codedHeight'> {
  const chroma = reader.ue();
  if (chroma > 3) throw new InvalidCodecConfigError(`The SPS states chroma_format_idc ${chroma}; the highest is 3.`);
  if (chroma === 3) reader.skip(1); // separate_colour_plane_flag: the unit of the cropping offsets is 1 either way
  const width = reader.ue();
  const height = reader.ue();
  assertFrameSize('The SPS', width, height);
  let [left, right, top, bottom] = [0, 0, 0, 0];
  if (reader.flag()) [left, right, top, bottom] = [reader.ue(), reader.ue(), reader.ue(), reader.ue()];
  const codedWidth = width - (left + right) * (chroma === 1 || chroma === 2 ? 2 : 1);
  const codedHeight = height - (top + bottom) * (chroma === 1 ? 2 : 1);
  if (codedWidth < 1 || codedHeight < 1) throw new InvalidCodecConfigError('The SPS crops the whole frame away.');
  return { codedWidth, codedHeight };
}

function skipCodingTools(reader: BitReader): void {
  // Block sizes and transform depths.
  for (let field = 0; field < 6; field++) reader.ue();
  if (reader.flag() && reader.flag()) skipScalingLists(reader);
  reader.skip(2); // amp_enabled_flag, sample_adaptive_offset_enabled_flag
  if (!reader.flag()) return; // pcm_enabled_flag
  reader.skip(8); // bit depths
  reader.ue(); // log2_min_pcm_luma_coding_block_size_minus3
  reader.ue(); // log2_diff_max_min_pcm_luma_coding_block_size
  reader.skip(1); // pcm_loop_filter_disabled_flag
}

/** Skips scaling_list_data() (§7.3.4). */
function skipScalingLists(reader: BitReader): void {
  for (let size = 0; size < 4; size++) {
    const coefficients = Math.min(64, 1 << (4 + (size << 1)));
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (!reader.flag()) {
        reader.ue(); // scaling_list_pred_matrix_id_delta
        continue;
      }
      if (size > 1) reader.se(); // scaling_list_dc_coef_minus8
      for (let at = 0; at < coefficients; at++) reader.se();
    }
  }
}

/** Skips all short-term reference picture sets (§7.3.7). Each may be coded by its differences from the set before. */
function skipReferencePictureSets(reader: BitReader): void {
  const sets = atMost(reader.ue(), MAX_SHORT_TERM_SETS, 'short-term reference picture sets');
  let pictures = 0;
  for (let set = 0; set < sets; set++) {
    if (set > 0 && reader.flag()) {
      reader.skip(1); // delta_rps_sign
      reader.ue(); // abs_delta_rps_minus1
      pictures = predictedPictures(reader, pictures);
      continue;
    }
    pictures = atMost(reader.ue() + reader.ue(), MAX_REFERENCES, 'reference pictures');
    for (let picture = 0; picture < pictures; picture++) {
      reader.ue(); // delta_poc_minus1
      reader.skip(1); // used_by_curr_pic_flag
    }
  }
}

/** Returns how many pictures a set takes over: those of the set before, and the picture that the set before belongs to. */
function predictedPictures(reader: BitReader, before: number): number {
  let taken = 0;
  for (let picture = 0; picture <= before; picture++) {
    const used = reader.flag();
    if (used || reader.flag()) taken += 1;
  }
  return atMost(taken, MAX_REFERENCES, 'reference pictures');
}

function skipLongTermPictures(reader: BitReader, pictureOrderBits: number): void {
  if (!reader.flag()) return;
  const pictures = atMost(reader.ue(), MAX_LONG_TERM_PICTURES, 'long-term reference pictures');
  reader.skip(pictures * (pictureOrderBits + 1));
}

type Vui = Usability & Pick<H265Sps, 'frameRate'>;

const NO_VUI: Vui = { sampleAspectRatio: undefined, colour: undefined, frameRate: undefined };

/** Reads the video usability information through its timing (§E.2.1). What follows concerns decoders only. */
function readVui(reader: BitReader): Vui {
  const usability = readUsability(reader);
  reader.skip(1); // neutral_chroma_indication_flag
  const fields = reader.flag(); // field_seq_flag: each picture is half a frame
  reader.skip(1); // frame_field_info_present_flag
  if (reader.flag()) for (let side = 0; side < 4; side++) reader.ue(); // default display window: for displays that overscan
  const frameRate = reader.flag() ? readFrameRate(reader, fields) : undefined;
  return { ...usability, frameRate };
}

function readFrameRate(reader: BitReader, fields: boolean): number | undefined {
  const unitsInTick = reader.bits(32);
  const timeScale = reader.bits(32);
  return believableRate(timeScale / unitsInTick / (fields ? 2 : 1));
}

function atMost(count: number, most: number, what: string): number {
  if (count > most) throw new InvalidCodecConfigError(`The SPS states ${count} ${what}; at most ${most} are allowed.`);
  return count;
}

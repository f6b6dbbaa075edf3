/**
 * The sequence parameter set of H.265: what a video is, as its own bitstream says (ITU-T H.265 §7.3.2.2 and Annex E).
 */
import { BitReader } from '#media/bit-reader.ts';
import { believableRate } from '#media/frame-rate.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { withoutEmulationPrevention } from '#media/nal.ts';
import { assertPictureSize } from '#media/picture-size.ts';
import { readUsability, type Usability } from './video-usability.ts';

/** What decoders are told to be able to do (§7.3.3), the general part. */
export interface ProfileTierLevel {
  readonly profileSpace: number;
  readonly highTier: boolean;
  readonly profileIdc: number;
  /** 32 flags, profile 0 first: the most significant bit. */
  readonly compatibility: number;
  /** The six bytes of flags between compatibility and level. */
  readonly constraints: readonly number[];
  readonly levelIdc: number;
}

/** What Millrace needs of a sequence parameter set. */
export interface Sps extends Usability {
  readonly profile: ProfileTierLevel;
  /** Pixels after cropping. */
  readonly codedWidth: number;
  readonly codedHeight: number;
  /** Frames per second; undefined where the bitstream does not say, or says nonsense. */
  readonly frameRate: number | undefined;
}

const NAL_SPS = 33;
/** §7.4.3.2.1 */
const MAX_SHORT_TERM_SETS = 64;
const MAX_LONG_TERM_PICTURES = 32;
/** Pictures a decoder can hold (§A.4.2), which no reference picture set can exceed. */
const MAX_REFERENCES = 16;

/**
 * Reads a sequence parameter set.
 * @param nal the NAL unit with its two header bytes, emulation prevention still in it
 * @throws {InvalidCodecConfigError} when it is not an SPS, ends early, or states too large a frame or values the standard does not have
 */
export function parseSps(nal: Uint8Array): Sps {
  if ((((nal[0] ?? 0) >> 1) & 0x3f) !== NAL_SPS) {
    throw new InvalidCodecConfigError('A parameter set that hvcC lists as an SPS is none.');
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
  if (pictureOrderBits > 16) throw new InvalidCodecConfigError('The SPS states picture order counts of over 16 bits.');
  const describedLayers = reader.flag() ? subLayers + 1 : 1;
  for (let layer = 0; layer < 3 * describedLayers; layer++) reader.ue(); // buffering, reordering, latency
  skipCodingTools(reader);
  skipReferencePictureSets(reader);
  skipLongTermPictures(reader, pictureOrderBits);
  reader.skip(2); // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
  const vui = reader.flag() ? readVui(reader) : NO_VUI;
  return { profile, ...size, ...vui };
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

function readSize(reader: BitReader): Pick<Sps, 'codedWidth' | 'codedHeight'> {
  const chroma = reader.ue();
  if (chroma > 3) throw new InvalidCodecConfigError(`The SPS states chroma_format_idc ${chroma}; it ends at 3.`);
  if (chroma === 3) reader.skip(1); // separate_colour_plane_flag: the cropping step is 1 either way
  const width = reader.ue();
  const height = reader.ue();
  assertPictureSize('The SPS', width, height);
  let [left, right, top, bottom] = [0, 0, 0, 0];
  if (reader.flag()) [left, right, top, bottom] = [reader.ue(), reader.ue(), reader.ue(), reader.ue()];
  const codedWidth = width - (left + right) * (chroma === 1 || chroma === 2 ? 2 : 1);
  const codedHeight = height - (top + bottom) * (chroma === 1 ? 2 : 1);
  if (codedWidth < 1 || codedHeight < 1) throw new InvalidCodecConfigError('The SPS crops the whole picture away.');
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

/** §7.3.4 */
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

/** §7.3.7, for all sets: each may be told by how it differs from the one before. */
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

/** How many pictures of the set before, and itself, a set takes over. */
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

type Vui = Usability & Pick<Sps, 'frameRate'>;

const NO_VUI: Vui = { sampleAspectRatio: undefined, colour: undefined, frameRate: undefined };

/** Video usability information as far as its timing (§E.2.1); what follows concerns decoders only. */
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
  if (count > most) throw new InvalidCodecConfigError(`The SPS states ${count} ${what}; there are ${most} at most.`);
  return count;
}

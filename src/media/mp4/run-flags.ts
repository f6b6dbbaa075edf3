/**
 * Flags of the boxes of fragments: of `tfhd` (ISO/IEC 14496-12 §8.8.7) and `trun` (§8.8.8).
 */

/** Of `tfhd`: offsets are counted from the start of `moof`. */
export const DEFAULT_BASE_IS_MOOF = 0x020000;
/** Of `trun`: it states where the bytes of the samples begin. */
export const DATA_OFFSET = 0x000001;
/** Of `trun`: it states a duration for each sample. */
export const DURATIONS = 0x000100;
/** Of `trun`: it states a size for each sample. */
export const SIZES = 0x000200;
/** Of `trun`: it states flags for each sample. */
export const FLAGS = 0x000400;
/** Of `trun`: it states a composition offset for each sample. */
export const COMPOSITION_OFFSETS = 0x000800;

/** Version 1 of a full box, to which its flags are added. It has 64-bit times and signed offsets. */
export const VERSION_1 = 1 << 24;

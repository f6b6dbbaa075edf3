/**
 * The flags with which fragments are written and read: of `tfhd` (ISO/IEC 14496-12 §8.8.7) and `trun` (§8.8.8).
 */

/** Of `tfhd`: offsets count from the start of `moof`. */
export const DEFAULT_BASE_IS_MOOF = 0x020000;
/** Of `trun`: it states where the samples' bytes begin. */
export const DATA_OFFSET = 0x000001;
/** Of `trun`: each sample has a duration, size, flags, or composition offset. */
export const DURATIONS = 0x000100;
export const SIZES = 0x000200;
export const FLAGS = 0x000400;
export const COMPOSITION_OFFSETS = 0x000800;

/** Version 1 of a full box, before its flags are added: 64-bit times, signed offsets. */
export const VERSION_1 = 1 << 24;

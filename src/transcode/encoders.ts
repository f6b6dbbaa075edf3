/**
 * The list of encoders that can make renditions. The first one that fits is used.
 */
import type { EncoderDescription } from './encoder.ts';
import { libx264 } from './encoders/libx264.ts';

/** Every encoder. */
export const ENCODERS: readonly [EncoderDescription, ...EncoderDescription[]] = [libx264];

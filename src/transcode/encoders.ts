/**
 * The encoders that can make renditions: a list, one entry an encoder. The first that fits is taken.
 */
import type { EncoderDescription } from './encoder.ts';
import { libx264 } from './encoders/libx264.ts';

/** Every encoder. */
export const ENCODERS: readonly [EncoderDescription, ...EncoderDescription[]] = [libx264];

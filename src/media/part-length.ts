/**
 * How much media a part holds: what encoders and packager agree on without asking each other.
 */
import type { FrameRate } from './frame-rate.ts';

/** Longest part asked for, in seconds: three of them are the hold-back a player keeps, about a second. */
export const PART_LENGTH_S = 0.35;

/** Frames in a part at a rate: as many as fit, at least one. The margin is for rates that fill a part exactly, like 60. */
export function framesPerPart(framesPerSecond: number): number {
  return Math.max(1, Math.floor(PART_LENGTH_S * framesPerSecond + 1e-6));
}

/**
 * PART-TARGET in whole milliseconds for parts of so many frames. Rounded up, because a part of frames whose timestamps
 * were rounded to milliseconds can be up to one millisecond longer than its frames are.
 */
export function partTargetMs(frames: number, rate: FrameRate): number {
  const milliseconds = (frames * 1000) / rate.framesPerSecond;
  return Math.ceil(milliseconds - 1e-6) + (rate.exact ? 0 : 1);
}

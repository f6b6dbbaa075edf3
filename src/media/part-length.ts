/**
 * Decides how much media a part holds. Encoders and packager use the same rule, and so agree without asking each other.
 */
import type { FrameRate } from './frame-rate.ts';

/** The longest part that encoders and packager aim for, in seconds. Players hold back three parts, about a second. */
export const PART_LENGTH_S = 0.35;

/** Frames in a part: as many as fit, and at least one. The margin is for rates that fill a part exactly, such as 60. */
export function framesPerPart(framesPerSecond: number): number {
  return Math.max(1, Math.floor(PART_LENGTH_S * framesPerSecond + 1e-6));
}

/**
 * The longest duration of parts of this many frames, in whole milliseconds. It is rounded up, because timestamps that are rounded to
 * milliseconds can make a part up to one millisecond longer than its frames.
 */
export function longestPartMs(frames: number, rate: FrameRate): number {
  const milliseconds = (frames * 1000) / rate.framesPerSecond;
  return Math.ceil(milliseconds - 1e-6) + (rate.exact ? 0 : 1);
}

/**
 * How much media a part holds: what encoders and packager agree on without asking each other.
 */

/** Longest part asked for, in seconds: three of them are the hold-back a player keeps, about a second. */
export const PART_LENGTH_S = 0.35;

/** Frames in a part at a rate: as many as fit, at least one. The margin is for rates that fill a part exactly, like 60. */
export function framesPerPart(framesPerSecond: number): number {
  return Math.max(1, Math.floor(PART_LENGTH_S * framesPerSecond + 1e-6));
}

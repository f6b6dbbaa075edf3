/**
 * Recognises frame rates from the durations of frames and from what bitstreams declare.
 */

const NTSC_RATES = [24_000 / 1001, 30_000 / 1001, 60_000 / 1001];

/** The frame rate that is expected of a source that declares none. */
export const USUAL_FRAME_RATE = 30;
/** The highest declared rate that is believed. A higher one is the resolution of a clock (variable frame rate). */
const MAX_FRAME_RATE = 300;

/** The resolution of publishers' timestamps, in seconds. In RTMP they are whole milliseconds. */
export const TIMESTAMP_RESOLUTION_S = 0.001;

/** The largest relative difference at which a measured rate counts as a well-known one. */
const TOLERANCE = 0.005;

/** A frame rate. It is exact when it was recognised, and otherwise as measured. */
export interface FrameRate {
  readonly framesPerSecond: number;
  readonly exact: boolean;
}

/** Returns a declared rate. Undefined when it is not plausible. */
export function believableRate(framesPerSecond: number): number | undefined {
  return framesPerSecond > 0 && framesPerSecond <= MAX_FRAME_RATE ? framesPerSecond : undefined;
}

/**
 * Finds the rate that a run of frames was meant to have.
 *
 * Publishers send timestamps rounded to milliseconds, as RTMP does. Over a third of a second, 29.97 and 30 then look alike: the declared
 * rate is taken when it fits, and otherwise the whole number. The declared rate fits when the duration differs by less than one frame,
 * because a rendition at 30 from a source at 50 has three of every five frames, at uneven intervals.
 * @param durationS duration of all `frames` together; above 0
 * @param resolutionS unit to which the timestamps were rounded
 * @param declared rate that the bitstream declares; undefined when it declares none
 */
export function recogniseFrameRate(
  frames: number,
  durationS: number,
  resolutionS: number,
  declared: number | undefined,
): FrameRate {
  const measured = frames / durationS;
  const fits = (rate: number) => Math.abs(rate / measured - 1) <= TOLERANCE;
  const isDeclared = declared !== undefined && Math.abs(frames / declared - durationS) < 1 / declared;
  if (isDeclared) return { framesPerSecond: exactRate(declared), exact: true };
  const whole = Math.round(measured);
  if (whole > 0 && Math.abs(frames / whole - durationS) <= resolutionS) return { framesPerSecond: whole, exact: true };
  const candidates = [whole, ...NTSC_RATES].filter(fits);
  const nearest = candidates.sort((a, b) => Math.abs(a - measured) - Math.abs(b - measured))[0];
  return nearest === undefined
    ? { framesPerSecond: measured, exact: false }
    : { framesPerSecond: nearest, exact: true };
}

/**
 * The unit to which times were rounded, in seconds: a millisecond if all steps between them are whole milliseconds, otherwise a tick.
 * @param steps in ticks
 */
export function resolutionS(steps: readonly number[], timescale: number): number {
  return steps.every((step) => step % (timescale / 1000) === 0) ? 0.001 : 1 / timescale;
}

/** Replaces a rounded NTSC rate by the exact one: 29.97 by 30000/1001. */
export function exactRate(declared: number): number {
  return NTSC_RATES.find((rate) => Math.abs(rate - declared) < 0.01) ?? declared;
}

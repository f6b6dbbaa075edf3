/**
 * Frame rates: what is declared, what is expected, and what frame durations tell.
 */

const NTSC_RATES = [24_000 / 1001, 30_000 / 1001, 60_000 / 1001];

/** What is expected of a source that declares no rate. */
export const USUAL_FRAME_RATE = 30;
/** Above this, a declared rate is a clock's resolution (variable frame rate), not a rate. */
const MAX_FRAME_RATE = 300;

/** How far a measured rate may lie from a well-known one and still mean it. */
const TOLERANCE = 0.005;

/** A measured frame rate, and whether it was recognised: then it is exact, not just near. */
export interface FrameRate {
  readonly framesPerSecond: number;
  readonly exact: boolean;
}

/** A rate that was declared, where it can be one. */
export function believableRate(framesPerSecond: number): number | undefined {
  return framesPerSecond > 0 && framesPerSecond <= MAX_FRAME_RATE ? framesPerSecond : undefined;
}

/**
 * The rate that a run of frames was meant to have.
 *
 * Publishers send timestamps rounded to milliseconds (RTMP has no finer ones), and over a third of a second 29.97 and 30
 * then look alike: what the bitstream declares decides when it fits, otherwise the whole number does. It fits within a frame, since
 * a rendition at 30 made of a source at 50 has three of five frames, unevenly.
 * @param durationS of all `frames` together; above 0
 * @param resolutionS what the timestamps were rounded to
 * @param declared as the bitstream says, undefined when it does not
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
  if (isDeclared) return { framesPerSecond: named(declared), exact: true };
  const whole = Math.round(measured);
  if (whole > 0 && Math.abs(frames / whole - durationS) <= resolutionS) return { framesPerSecond: whole, exact: true };
  const candidates = [whole, ...NTSC_RATES].filter(fits);
  const nearest = candidates.sort((a, b) => Math.abs(a - measured) - Math.abs(b - measured))[0];
  return nearest === undefined
    ? { framesPerSecond: measured, exact: false }
    : { framesPerSecond: nearest, exact: true };
}

/** 29.97 as a bitstream may declare it is 30000/1001. */
function named(declared: number): number {
  return NTSC_RATES.find((rate) => Math.abs(rate - declared) < 0.01) ?? declared;
}

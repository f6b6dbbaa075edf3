/**
 * Decides how much media a part holds. Encoders and packager use the same rules, and so agree without asking each other.
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

/**
 * The fewest frames of a planned part, as a fraction of those that fit. Parts must have 0.85 of PART-TARGET, which may be a few milliseconds
 * longer than the frames that fit.
 */
const LEAST_FRAMES = 0.87;

/**
 * Plans the parts of a segment that is expected to have this many frames, so that they become about equally long. Full parts would leave a
 * last part of any length: of 2 s at 25 frames a second, six parts of 8 frames and one of 2. When hls.js 1.7 has fallen behind by some
 * seconds, it skips the rest of a segment if that rest is shorter than 0.2 s. If it is shorter than 0.1 s, hls.js then never fires `ended`.
 * @param most the number of frames that fit into a part, at least 1
 * @returns for each part except the last, the number of frames from the start of the segment to the end of the part
 */
export function plannedParts(frames: number, most: number): readonly number[] {
  const count = Math.ceil(frames / most);
  const least = Math.ceil(LEAST_FRAMES * most);
  const ends: number[] = [];
  let end = 0;
  for (let part = 1; part < count; part++) {
    end = Math.min(end + most, Math.max(end + least, Math.round((part * frames) / count)));
    ends.push(end);
  }
  return ends;
}

/**
 * Plans the parts of each segment of a rendition. A segment is expected to have as many frames as the longer one of the two before it. One
 * is not enough, because the number of frames varies: two seconds of audio, for example, have 93 or 94 frames.
 */
export class PartPlan {
  #ends: readonly number[] = [];
  /** The number of frames of the newest segment. */
  #frames = 0;

  /** Notes a segment of which nothing was missing. @param most see {@link plannedParts} */
  add(frames: number, most: number): void {
    this.#ends = plannedParts(Math.max(frames, this.#frames), most);
    this.#frames = frames;
  }

  /**
   * Where a part ends. Undefined if the part is not planned. It is then the last one of its segment, or becomes as long as possible.
   * @param from the number of frames from the start of the segment to the start of the part; the result is counted in the same way
   */
  endOf(from: number): number | undefined {
    return this.#ends.find((end) => end > from);
  }
}

/**
 * Measures the intervals between keyframes. Pure: times come with the packets.
 */

/** An interval between keyframes. */
export interface KeyframeInterval {
  readonly intervalS: number;
  /** Whether the interval is still growing, because the keyframe that ends it has not come yet. */
  readonly open: boolean;
}

/**
 * Whether keyframes at this interval explain a segment that had to be cut without one. If they come more often, the cause is a relay that
 * sends audio far ahead of the video, as `push` of nginx does when it begins.
 */
export function isTooLong({ intervalS }: KeyframeInterval, targetDurationS: number): boolean {
  return intervalS > targetDurationS / 2;
}

/** The number of intervals that are remembered, the newest ones. */
const REMEMBERED = 5;

/** The meter of one video track. */
export class KeyframeMeter {
  #intervals: readonly number[] = [];
  /** The second longest of the intervals, or the only one. */
  #usualS: number | undefined;
  #keyframeS: number | undefined;
  #lastS = 0;

  /** Takes the next packet. @param mediaS its decoding time in seconds */
  add(keyframe: boolean, mediaS: number): void {
    this.#lastS = mediaS;
    if (!keyframe) return;
    if (this.#keyframeS !== undefined) {
      this.#intervals = [...this.#intervals, mediaS - this.#keyframeS].slice(-REMEMBERED);
      const [longestS, secondS = longestS] = this.#intervals.toSorted((a, b) => b - a);
      this.#usualS = secondS;
    }
    this.#keyframeS = mediaS;
  }

  /** Restarts the measurement, because the following packets may come from an encoder with other settings. */
  restart(): void {
    this.#intervals = [];
    this.#usualS = undefined;
    this.#keyframeS = undefined;
  }

  /**
   * The longest of the latest intervals between two keyframes, in seconds. The longest counts, because encoders that add keyframes at scene
   * cuts make some intervals shorter, but still have their longest one. Undefined before the second keyframe.
   */
  get intervalS(): number | undefined {
    return this.#intervals.length === 0 ? undefined : Math.max(...this.#intervals);
  }

  /**
   * The first decoding time after this one at which a keyframe is expected, in seconds: one or more usual intervals after the newest
   * keyframe. The usual interval is the second longest of the latest ones, because an interval in which the video paused or a keyframe was
   * lost is longer than the others. Undefined before the second keyframe, and when the keyframes have the same time.
   */
  expectedAfter(seconds: number): number | undefined {
    const usualS = this.#usualS;
    if (this.#keyframeS === undefined || usualS === undefined || usualS <= 0) return undefined;
    const missed = Math.floor(Math.max(0, seconds - this.#keyframeS) / usualS);
    return this.#keyframeS + (missed + 1) * usualS;
  }

  /** The longest of the latest intervals, including the growing one. */
  get longest(): KeyframeInterval {
    const complete = this.intervalS ?? 0;
    const growing = this.#lastS - (this.#keyframeS ?? this.#lastS);
    return growing > complete ? { intervalS: growing, open: true } : { intervalS: complete, open: false };
  }
}

/**
 * Measures how far apart keyframes are. Pure: time comes in with the packets.
 */

/** A distance between keyframes. */
export interface KeyframeInterval {
  readonly intervalS: number;
  /** The keyframe that ends it has not come yet: it will be longer. */
  readonly open: boolean;
}

/**
 * Whether keyframes this far apart explain a segment that had to be cut without one. Where they come more often, a relay that sends audio
 * far ahead of the video is the cause, as `push` of nginx does when it begins.
 */
export function isTooLong({ intervalS }: KeyframeInterval, targetDurationS: number): boolean {
  return intervalS > targetDurationS / 2;
}

/** The longest of so many counts: encoders that add keyframes at scene cuts still keep their longest interval. */
const REMEMBERED = 5;

/** The meter of one video track. */
export class KeyframeMeter {
  #intervals: readonly number[] = [];
  #keyframeS: number | undefined;
  #lastS = 0;

  /** The next packet. @param mediaS its decoding time in seconds */
  add(keyframe: boolean, mediaS: number): void {
    this.#lastS = mediaS;
    if (!keyframe) return;
    if (this.#keyframeS !== undefined) {
      this.#intervals = [...this.#intervals, mediaS - this.#keyframeS].slice(-REMEMBERED);
    }
    this.#keyframeS = mediaS;
  }

  /** What follows does not continue what came before, and may come from an encoder that was set up anew. */
  restart(): void {
    this.#intervals = [];
    this.#keyframeS = undefined;
  }

  /** The longest of late between two keyframes, in seconds; undefined before the second one. */
  get intervalS(): number | undefined {
    return this.#intervals.length === 0 ? undefined : Math.max(...this.#intervals);
  }

  /** The longest of late, the growing one included. */
  get longest(): KeyframeInterval {
    const complete = this.intervalS ?? 0;
    const growing = this.#lastS - (this.#keyframeS ?? this.#lastS);
    return growing > complete ? { intervalS: growing, open: true } : { intervalS: complete, open: false };
  }
}

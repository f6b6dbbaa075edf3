/**
 * Makes pictures for recordings whose sessions were not transcoded, and for clips between two posters. Each is made from a recorded keyframe when it
 * is asked for, one at a time, in a process of its own. The newest are kept in memory.
 */
import { BoundedMap } from '#lib/bounded-map.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { type FirstKeyframe, firstKeyframe } from '#media/mp4/first-keyframe.ts';
import { MalformedMp4Error } from '#media/mp4/malformed-mp4.ts';
import type { Keyframe } from '#transcode/still.ts';

/** The number of pictures that are kept in memory, each of some ten kilobytes. */
const MAX_KEPT = 200;
/** How long a picture that could not be made is not tried again. The machine may only have been too busy to make it in time. */
const RETRY_MS = 60_000;

/** A picture, or the failure to make one and the time from which on it is tried again. */
interface Kept {
  readonly still: Uint8Array | undefined;
  /** In milliseconds of the monotonic clock. */
  readonly until: number;
}

/** The beginning of a segment. */
export interface SegmentBeginning {
  readonly init: Uint8Array;
  /** The bytes of the segment, at least up to the end of its first frame. */
  readonly segment: Uint8Array;
}

/** Makes a JPEG of a keyframe. Undefined when it cannot be decoded, and when that takes too long. */
export type MakeStill = (keyframe: Keyframe) => Promise<Uint8Array | undefined>;

/** Makes pictures of segments. */
export class Stills {
  readonly #kept = new BoundedMap<string, Kept>(MAX_KEPT);
  readonly #make: MakeStill;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(make: MakeStill, clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#make = make;
    this.#clock = clock;
  }

  /**
   * Returns a JPEG of the first frame of a segment. Undefined when that frame cannot be decoded by itself, or the file is damaged. A
   * failure is remembered for a minute.
   * @param name identifies the segment
   * @param read reads the beginning of the segment; called only when the picture is not known. Its errors are thrown
   */
  async of(name: string, read: () => Promise<SegmentBeginning>): Promise<Uint8Array | undefined> {
    const before = this.#last;
    const made = before.then(async () => {
      const known = this.#kept.get(name);
      if (known !== undefined && this.#clock.monotonic() < known.until) return known.still;
      const keyframe = keyframeOf(await read());
      const still = keyframe && (await this.#make(keyframe));
      this.#kept.set(name, { still, until: still === undefined ? this.#clock.monotonic() + RETRY_MS : Infinity });
      return still;
    });
    this.#last = made.catch(() => undefined);
    return await made;
  }
}

/** The first frame of a segment. Undefined when it is no keyframe, and when the file is damaged. */
function keyframeOf({ init, segment }: SegmentBeginning): FirstKeyframe | undefined {
  try {
    return firstKeyframe(init, segment);
  } catch (error) {
    if (!(error instanceof MalformedMp4Error)) throw error;
    return undefined;
  }
}

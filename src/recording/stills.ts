/**
 * Pictures of recordings that have none, because their sessions were not transcoded: each is made of a recorded keyframe when it is asked
 * for. One is made at a time, in a process of its own, and the newest are kept.
 */
import { BoundedMap } from '#lib/bounded-map.ts';
import { firstKeyframe } from '#media/mp4/first-keyframe.ts';
import { makeStill } from '#transcode/still.ts';

/** The number of pictures that are kept, each of some ten kilobytes. */
const MAX_KEPT = 200;

/** The beginning of a segment. */
export interface SegmentBeginning {
  readonly init: Uint8Array;
  /** As many of its bytes as its first frame needs. */
  readonly segment: Uint8Array;
}

/** Makes pictures of segments. */
export class Stills {
  readonly #kept = new BoundedMap<string, Uint8Array | undefined>(MAX_KEPT);
  #last: Promise<unknown> = Promise.resolve();

  /**
   * The picture of the first frame of a segment. Undefined when that cannot be decoded by itself.
   * @param name identifies the segment
   * @param read reads its beginning; called only when the picture is not known
   */
  async of(name: string, read: () => Promise<SegmentBeginning>): Promise<Uint8Array | undefined> {
    const before = this.#last;
    const made = before.then(async () => {
      if (this.#kept.has(name)) return this.#kept.get(name);
      const { init, segment } = await read();
      const keyframe = firstKeyframe(init, segment);
      const still = keyframe && (await makeStill(keyframe));
      this.#kept.set(name, still);
      return still;
    });
    this.#last = made.catch(() => undefined);
    return await made;
  }
}

/**
 * Decides where the lists of all renditions begin.
 */
import { BoundedMap } from '#lib/bounded-map.ts';

/** Far more segments than renditions can be apart. */
const REMEMBERED_SEGMENTS = 64;

/**
 * The first listed segment of a session by its newest complete one, the same for all renditions. Durations of the audio are multiples of its
 * frames, so by its own durations each rendition would remove a segment at another time. Shaka 5.2 fails, and video.js 8.24 at times, where it
 * opens playlists of audio and video that begin at different segments.
 */
export class ListStarts {
  readonly #firsts = new BoundedMap<number, number>(REMEMBERED_SEGMENTS);

  /**
   * Returns the first segment of every list whose newest complete segment is `lastMsn`: as the first rendition to ask has decided.
   * @param ownMsn the first segment by the durations of the rendition that asks
   */
  of(lastMsn: number, ownMsn: number): number {
    const decided = this.#firsts.get(lastMsn);
    if (decided !== undefined) return decided;
    this.#firsts.set(lastMsn, ownMsn);
    return ownMsn;
  }
}

/**
 * Decides where the playlists of all renditions begin.
 */
import { BoundedMap } from '#lib/bounded-map.ts';

/** Far more segments than renditions can be apart. */
const REMEMBERED_SEGMENTS = 64;

/** The list of one rendition. */
export interface StartedList {
  /** Removes the segments before this one. */
  startAt(msn: number): void;
}

/**
 * The first listed segment of a session, the same for all renditions at any moment. Durations of the audio are multiples of its frames, so
 * by its own durations each rendition would remove a segment at another time. Shaka 5.2 fails, and video.js 8.24 at times, where it opens
 * playlists of audio and video that begin at different segments.
 */
export class ListStarts {
  /** The first segment to list, by the newest complete one. The first rendition that completes a segment decides. */
  readonly #starts = new BoundedMap<number, number>(REMEMBERED_SEGMENTS);
  /** The newest complete segment of each list. */
  readonly #newest = new Map<StartedList, number>();

  /**
   * Notes that a list has a new complete segment. Lists begin at another segment once all of them have it. One that is further behind than
   * a segment is not waited for.
   * @param wantedMsn the first segment to list, by the durations of this list. Undefined while it is shorter than the window
   */
  completed(list: StartedList, lastMsn: number, wantedMsn: number | undefined): void {
    this.#newest.set(list, lastMsn);
    if (wantedMsn !== undefined && !this.#starts.has(lastMsn)) this.#starts.set(lastMsn, wantedMsn);
    const all = [...this.#newest.values()];
    const furthest = Math.max(...all);
    const common = Math.min(...all.filter((msn) => msn >= furthest - 1));
    for (const [each, newest] of this.#newest) {
      const start = this.#starts.get(Math.min(newest, common));
      if (start !== undefined) each.startAt(start);
    }
  }
}

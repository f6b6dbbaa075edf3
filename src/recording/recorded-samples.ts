/**
 * The samples of a rendition and the places of their bytes, as the index states them and an MP4 needs them. They are held in columns,
 * because four hours have 43,200 parts with 432,000 frames.
 */
import type { InitDescription } from '#media/mp4/init-reader.ts';
import type { SampleColumns } from '#media/mp4/movie.ts';

/** Parts in the order of the media. One entry of each column describes a part. */
export interface PartColumns {
  /** The index of its first sample. The entry after the last part is the number of samples. */
  readonly firstSamples: Uint32Array;
  /** The decoding time of its first sample in session time, in ticks of its configuration's timescale. */
  readonly decodeTimes: Float64Array;
  /** The number of its segment, which is the same in all renditions for the same time. */
  readonly segments: Uint32Array;
  /** The index of its configuration. */
  readonly configurations: Uint16Array;
  /** The number of the volume that it is in, and where its samples begin there, in bytes. */
  readonly volumes: Uint32Array;
  readonly offsets: Float64Array;
}

/** The samples of a rendition, or of some segments of it that follow one another. */
export interface RecordedSamples {
  /** What its init segments state, each configuration once. */
  readonly configurations: readonly InitDescription[];
  readonly parts: PartColumns;
  readonly samples: SampleColumns;
}

/**
 * Finds the first index for which a condition holds, by binary search.
 * @param count the number of indexes, from 0 on. Also the result when the condition holds for none
 * @param holds a condition that holds for all indexes after the first one for which it holds
 */
export function firstIndex(count: number, holds: (index: number) => boolean): number {
  let [from, until] = [0, count];
  while (from < until) {
    const middle = (from + until) >>> 1;
    if (holds(middle)) until = middle;
    else from = middle + 1;
  }
  return from;
}

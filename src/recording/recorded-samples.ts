/**
 * What an MP4 needs to know of a rendition: its samples, and where the index says that they are. All of it is columns, because four hours have
 * 43,200 parts with 432,000 frames.
 */
import type { InitDescription } from '#media/mp4/init-reader.ts';
import type { SampleColumns } from '#media/mp4/movie.ts';

/** Parts in the order of the media, one entry of each column a part. */
export interface PartColumns {
  /** The index of its first sample. One entry more than parts: the number of samples. */
  readonly firstSamples: Uint32Array;
  /** The decoding time of its first sample, in ticks of its configuration's timescale, as session time. */
  readonly decodeTimes: Float64Array;
  /** The number of its segment, which is the same in all renditions for the same time. */
  readonly segments: Uint32Array;
  /** The index of its configuration. */
  readonly configurations: Uint16Array;
  /** The volume that has it, and where its samples begin there. */
  readonly volumes: Uint32Array;
  readonly offsets: Float64Array;
}

/** The samples of a rendition, or of some segments of it that follow one another. */
export interface RecordedSamples {
  /** What its init segments say. */
  readonly configurations: readonly InitDescription[];
  readonly parts: PartColumns;
  readonly samples: SampleColumns;
}

/** The first index of a column for which a condition holds that holds for all after it. `count` when it holds for none. */
export function firstIndex(count: number, holds: (index: number) => boolean): number {
  let [from, until] = [0, count];
  while (from < until) {
    const middle = (from + until) >>> 1;
    if (holds(middle)) until = middle;
    else from = middle + 1;
  }
  return from;
}

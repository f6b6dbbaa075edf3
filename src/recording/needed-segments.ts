/**
 * Which segments of a recording an excerpt needs: pure rules. Viewers get these segments, and of a deleted recording they are kept for its
 * clips.
 */
import type { Excerpt } from './recording.ts';
import type { RecordedRendition, RecordingIndex } from './recording-index.ts';

/** The numbers of the first and the last segment that an excerpt needs. */
export interface SegmentSpan {
  readonly first: number;
  /** Infinity: to the end of the recording. */
  readonly last: number;
}

/**
 * The segments in the playlists of an excerpt. They begin with the last one at or before its start that a decoder can start with. The
 * segments of the leading rendition decide for all renditions. Undefined when there is nothing in the excerpt.
 */
export function playlistSpan({ leader }: RecordingIndex, { fromMs, untilMs }: Excerpt): SegmentSpan | undefined {
  if (leader === undefined || leader.completeCount === 0) return undefined;
  const { segments, completeCount } = leader;
  const first = fromMs === undefined ? 0 : segments.indexAt(fromMs);
  const last = untilMs === undefined ? completeCount - 1 : Math.min(completeCount - 1, segments.indexBefore(untilMs));
  if (first > last) return undefined;
  return {
    first: fromMs === undefined ? 0 : segments.at(independentAt(leader, first))!.number,
    // The audio may have segments after the last one of the video.
    last: untilMs === undefined ? Infinity : segments.at(last)!.number,
  };
}

/**
 * The segments of the tracks of an excerpt's MP4. Undefined when the rendition has no segment.
 * @param leader the rendition of its first track, whose segments decide for the other track
 */
export function movieSpan(leader: RecordedRendition, { fromMs, untilMs }: Excerpt): SegmentSpan | undefined {
  const { segments } = leader;
  // The segment before the excerpt is needed as well. In an open GOP, frames that are shown before a segment's first keyframe depend on the
  // keyframe before it. The audio decoder needs some packets before the first audible one.
  const first = fromMs === undefined ? 0 : independentAt(leader, Math.max(0, segments.indexAt(fromMs) - 1));
  const fromNumber = segments.at(first)?.number;
  if (fromNumber === undefined) return undefined;
  return { first: fromNumber, last: untilMs === undefined ? Infinity : lastNeeded(leader, untilMs) };
}

/** The index of the last segment, at an index or before it, that a decoder can start with. Without one, that of the first segment. */
function independentAt({ segments }: RecordedRendition, index: number): number {
  let at = index;
  while (at > 0 && segments.at(at)?.independent !== true) at -= 1;
  return at;
}

/** The number of the last segment that has frames which are shown before a time. */
function lastNeeded({ segments }: RecordedRendition, untilMs: number): number {
  // Times in the index are whole milliseconds.
  const index = segments.indexAt(untilMs - 1);
  const last = segments.at(index);
  if (last === undefined) return Infinity;
  // Some frames of the next segment may be shown before its keyframe. They are needed when the excerpt ends before this segment does.
  const isCut = last.programDateTimeMs + last.durationS * 1000 > untilMs + 1;
  return (isCut ? segments.at(index + 1) : undefined)?.number ?? last.number;
}

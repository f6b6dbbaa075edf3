/**
 * Which segments of a recording an excerpt needs: pure rules. Viewers get these segments, and of a deleted recording they are kept for its
 * clips.
 */
import type { Excerpt } from './recording.ts';
import type { RecordedRendition, RecordedSegment, RecordingIndex } from './recording-index.ts';

/** Times in the index are whole milliseconds. */
const ROUNDED_MS = 1;
/** How many segments a rendition may be behind the leading one, because its encoder takes its time. */
const MOST_BEHIND = 4;

const endMsOf = ({ programDateTimeMs, durationS }: RecordedSegment): number => programDateTimeMs + durationS * 1000;

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
 * Whether the playlists of an excerpt of a running recording have everything: no segment of the excerpt will be added or become longer, in
 * any rendition.
 */
export function isExcerptComplete({ leader, renditions, hasEnded }: RecordingIndex, { untilMs }: Excerpt): boolean {
  if (hasEnded) return true;
  if (leader === undefined || untilMs === undefined) return false;
  const { segments, completeCount } = leader;
  const at = segments.indexBefore(untilMs);
  const last = segments.at(at);
  if (last === undefined) return segments.count > 0;
  // Another segment of the excerpt may follow unless one has begun after the excerpt, or this one reaches its end.
  const isReached = at + 1 < segments.count || endMsOf(last) >= untilMs - ROUNDED_MS;
  if (at >= completeCount || !isReached) return false;
  const newest = segments.at(segments.count - 1)!.number;
  return renditions.every((rendition) => {
    const own = rendition.segments.at(rendition.segments.count - 1);
    // One that is behind by more has ended, or has lost these segments.
    if (own === undefined || newest - own.number > MOST_BEHIND) return true;
    return own.number > last.number || (own.number === last.number && !rendition.data.isOpen);
  });
}

/**
 * Whether the playlists of an excerpt of a running recording will soon have more of what is recorded by now: the end of the excerpt, or its
 * only segment, is recorded but not complete.
 */
export function isCompleteSoon(index: RecordingIndex, excerpt: Excerpt): boolean {
  const { segments } = index.leader ?? {};
  const newest = segments?.at(segments.count - 1);
  if (newest === undefined || isExcerptComplete(index, excerpt)) return false;
  const { fromMs = 0, untilMs = Infinity } = excerpt;
  const recordedMs = endMsOf(newest) + ROUNDED_MS;
  return fromMs < recordedMs && (untilMs <= recordedMs || playlistSpan(index, excerpt) === undefined);
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
  const index = segments.indexAt(untilMs - ROUNDED_MS);
  const last = segments.at(index);
  if (last === undefined) return Infinity;
  // Some frames of the next segment may be shown before its keyframe. They are needed when the excerpt ends before this segment does.
  const isCut = endMsOf(last) > untilMs + ROUNDED_MS;
  return (isCut ? segments.at(index + 1) : undefined)?.number ?? last.number;
}

/**
 * Decides which segments of a recording an excerpt needs. Viewers of the excerpt get these segments, and they are kept for clips when the
 * recording is deleted. Pure rules.
 */
import type { Excerpt } from './recording.ts';
import type { RecordedRendition, RecordedSegment, RecordingIndex } from './recording-index.ts';

/** Times in the index are rounded to whole milliseconds, so they may be wrong by this much. */
const ROUNDED_MS = 1;
/** How many segments a rendition may lag behind the leading one, because its encoder needs time. */
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
  // More of the excerpt may follow until a segment after it has begun, or until its last segment reaches its end.
  const isReached = at + 1 < segments.count || endMsOf(last) >= untilMs - ROUNDED_MS;
  if (at >= completeCount || !isReached) return false;
  const newest = segments.at(segments.count - 1)!.number;
  return renditions.every((rendition) => {
    const own = rendition.segments.at(rendition.segments.count - 1);
    // A rendition that lags by more has ended, or has lost these segments.
    if (own === undefined || newest - own.number > MOST_BEHIND) return true;
    return own.number > last.number || (own.number === last.number && !rendition.data.isOpen);
  });
}

/**
 * Whether it is worth waiting for the playlists of an excerpt of a running recording: its end, or its only segment, has been recorded, but
 * in a segment that is not complete yet.
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

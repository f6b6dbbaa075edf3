/**
 * The wall-clock time of a position in an MP4. The MP4 leaves out the times while the publisher was away. The playlist states the time of
 * each segment.
 */

/** Media without a pause. */
export interface MediaSpan {
  /** When its first frame was shown, in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly durationS: number;
}

/**
 * Reads from a media playlist which spans of time an MP4 has, in order. The MP4 may begin in the middle of a segment.
 * @param fromMs when the first frame of the MP4 was shown, in milliseconds since the epoch
 */
export function spansOf(playlist: string, fromMs: number): readonly MediaSpan[] {
  const spans: MediaSpan[] = [];
  let atMs = Number.NaN;
  let durationS = 0;
  let isGap = false;
  const lines = /^#EXT-X-PROGRAM-DATE-TIME:(.+)|^#EXTINF:([\d.]+)|^(#EXT-X-GAP)|^[^#\s].*/gm;
  for (const [, date, length, gap] of playlist.matchAll(lines)) {
    if (date !== undefined) atMs = Date.parse(date);
    else if (length !== undefined) durationS = Number(length);
    else if (gap !== undefined) isGap = true;
    else {
      const endMs = atMs + durationS * 1000;
      const beginMs = Math.max(atMs, fromMs);
      if (!isGap && endMs > beginMs) spans.push({ fromMs: beginMs, durationS: (endMs - beginMs) / 1000 });
      atMs = endMs;
      isGap = false;
    }
  }
  return spans;
}

/**
 * When the frame at a position of the MP4 was shown, in whole milliseconds since the epoch. A position after the end counts as the end.
 * Undefined when there is no media.
 */
export function wallTimeOf(spans: readonly MediaSpan[], positionS: number): number | undefined {
  let leftS = Math.max(0, positionS);
  for (const { fromMs, durationS } of spans) {
    if (leftS < durationS) return Math.round(fromMs + leftS * 1000);
    leftS -= durationS;
  }
  const last = spans.at(-1);
  return last && Math.round(last.fromMs + last.durationS * 1000);
}

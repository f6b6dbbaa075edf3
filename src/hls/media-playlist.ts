/**
 * Renders a media playlist as text: a pure function of what a window lists (rfc8216bis §4.4, Appendix B.1).
 */
import * as tags from './tags.ts';
import { durationOf, type Segment, type WindowView } from './window.ts';

/** The newest position of another rendition's playlist, for EXT-X-RENDITION-REPORT. */
export interface RenditionReport {
  /** The URI of its playlist, relative to this one. */
  readonly uri: string;
  readonly lastMsn: number;
  readonly lastPart: number | undefined;
}

/** Everything that a media playlist lists and announces. */
export interface MediaPlaylist extends WindowView {
  readonly targetDurationS: number;
  readonly partTargetS: number;
  readonly serverControl: tags.ServerControl;
  /** The path before the name of every resource, without a slash at the end. */
  readonly uriPrefix: string;
  /** The name of a resource that a player may request before it exists. */
  readonly hintedPart?: string | undefined;
  readonly hintedInit?: string | undefined;
  /** Whether segments may need frames of earlier ones although they begin with a keyframe. */
  readonly hasOpenGops: boolean;
  readonly reports: readonly RenditionReport[];
  readonly ended: boolean;
}

/** Segments that are further from the end than this many target durations list no parts (§6.2.2). */
const PARTS_LISTED_TARGETS = 3;

/**
 * Returns the playlist's text.
 * @param skip number of segments that EXT-X-SKIP replaces, which makes this a delta update (§6.2.5.1)
 */
export function renderMediaPlaylist(playlist: MediaPlaylist, skip = 0): string {
  const { segments } = playlist;
  const lines = [
    tags.head(),
    tags.targetDuration(playlist.targetDurationS),
    tags.serverControl(playlist.serverControl),
    tags.partInf(playlist.partTargetS),
    tags.mediaSequence(segments[0]?.msn ?? 0),
    tags.discontinuitySequence(segments[0]?.discontinuitySequence ?? 0),
  ];
  if (!playlist.hasOpenGops && segments.every((segment) => segment.independent)) lines.push(tags.independentSegments());
  if (skip > 0) lines.push(tags.skip(skip));

  // An ended playlist lists no parts. When hls.js 1.7 reads the end of a playlist with parts, it may load some again that it already has.
  // Chromium refuses frames that are appended again from the middle of a GOP, and all frames after them.
  const partsFrom = playlist.ended
    ? segments.length
    : withinOfEnd(segments, PARTS_LISTED_TARGETS * playlist.targetDurationS);
  for (const [index, segment] of segments.entries()) {
    if (index >= skip) pushSegment(lines, playlist, segment, segments[index - 1]?.init, index >= partsFrom);
  }
  if (playlist.ended) {
    lines.push(tags.endList());
  } else {
    const { hintedInit, hintedPart } = playlist;
    if (hintedInit !== undefined) lines.push(tags.preloadHint('MAP', `${playlist.uriPrefix}/${hintedInit}`));
    if (hintedPart !== undefined) lines.push(tags.preloadHint('PART', `${playlist.uriPrefix}/${hintedPart}`));
  }
  for (const { uri, lastMsn, lastPart } of playlist.reports) lines.push(tags.renditionReport(uri, lastMsn, lastPart));
  return `${lines.join('\n')}\n`;
}

/**
 * Returns how many segments a delta update skips: those before the skip boundary. The boundary is measured from the end of the last
 * complete segment, so that a player has every skipped segment, whether it measures from there or from the last part.
 */
export function skippableSegments({ segments }: WindowView, canSkipUntilS: number): number {
  const complete = segments.filter((segment) => segment.complete);
  return withinOfEnd(complete, canSkipUntilS);
}

/**
 * Returns the index of the first segment that ends at most `distanceS` before the end of the list. The distance is a sum of durations, as
 * players measure it.
 */
function withinOfEnd(segments: readonly Segment[], distanceS: number): number {
  let afterS = 0;
  let index = segments.length;
  while (index > 0 && afterS <= distanceS) {
    index -= 1;
    afterS += durationOf(segments[index] as Segment);
  }
  return index;
}

function pushSegment(
  lines: string[],
  { uriPrefix }: MediaPlaylist,
  segment: Segment,
  initBefore: string | undefined,
  withParts: boolean,
): void {
  // It has just begun, or its media found no memory, in which case nothing comes after it.
  if (segment.parts.length === 0) return;
  // These tags and the date also apply to the first part, so they come before it (§4.4.4.9).
  if (segment.discontinuity) lines.push(tags.discontinuity());
  if (segment.init !== initBefore) lines.push(tags.map(`${uriPrefix}/${segment.init}`));
  const known = withParts ? LISTED_WITH_PARTS : LISTED;
  let text = known.get(segment);
  if (text === undefined) {
    text = segmentText(uriPrefix, segment, withParts);
    known.set(segment, text);
  }
  lines.push(text);
}

/** The text of each segment, without its parts and with them. Its record never changes, and about a hundred versions of a playlist list it. */
const LISTED = new WeakMap<Segment, string>();
const LISTED_WITH_PARTS = new WeakMap<Segment, string>();

function segmentText(uriPrefix: string, segment: Segment, withParts: boolean): string {
  const lines = [tags.programDateTime(segment.programDateTimeMs)];
  for (const { name, durationS, independent } of withParts ? segment.parts : []) {
    lines.push(tags.part(`${uriPrefix}/${name}`, durationS, independent));
  }
  if (segment.complete) lines.push(tags.extinf(durationOf(segment)), `${uriPrefix}/${segment.msn}.m4s`);
  return lines.join('\n');
}

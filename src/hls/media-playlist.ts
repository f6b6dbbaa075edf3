/**
 * A media playlist as text: a pure function of what a window lists (rfc8216bis §4.4, Appendix B.1).
 */
import * as tags from './tags.ts';
import { durationOf, isGap, type Segment, type WindowView } from './window.ts';

/** Where another rendition stands, for EXT-X-RENDITION-REPORT. */
export interface RenditionReport {
  /** Its playlist, relative to this one. */
  readonly uri: string;
  readonly lastMsn: number;
  readonly lastPart: number | undefined;
}

/** All a media playlist says. */
export interface MediaPlaylist extends WindowView {
  readonly targetDurationS: number;
  readonly partTargetS: number;
  readonly serverControl: tags.ServerControl;
  /** Put before every resource's name; without a slash at the end. */
  readonly uriPrefix: string;
  /** What a player may ask for before it exists. */
  readonly hintedPart: string;
  readonly hintedInit: string | undefined;
  readonly reports: readonly RenditionReport[];
  readonly ended: boolean;
}

/** Segments further from the end than this many target durations list no parts (§6.2.2). */
const PARTS_LISTED_TARGETS = 3;

/**
 * The playlist's text.
 * @param skip makes it a delta update (§6.2.5.1) in which EXT-X-SKIP stands for the first segments
 */
export function renderMediaPlaylist(playlist: MediaPlaylist, skip = 0): string {
  const { segments } = playlist;
  const lines = [
    tags.head(),
    tags.targetDuration(playlist.targetDurationS),
    tags.serverControl(playlist.serverControl),
    tags.partInf(playlist.partTargetS),
    tags.mediaSequence(segments[0]?.msn ?? 0),
    tags.discontinuitySequence(playlist.discontinuitySequence),
  ];
  if (segments.every((segment) => segment.independent)) lines.push(tags.independentSegments());
  if (skip > 0) lines.push(tags.skip(skip));

  const withParts = withinOfEnd(segments, PARTS_LISTED_TARGETS * playlist.targetDurationS);
  for (const [index, segment] of segments.entries()) {
    if (index >= skip) pushSegment(lines, playlist, segment, segments[index - 1]?.init, index >= withParts);
  }
  if (playlist.ended) {
    lines.push(tags.endList());
  } else {
    const { hintedInit } = playlist;
    if (hintedInit !== undefined) lines.push(tags.preloadHint('MAP', `${playlist.uriPrefix}/${hintedInit}`));
    lines.push(tags.preloadHint('PART', `${playlist.uriPrefix}/${playlist.hintedPart}`));
  }
  for (const { uri, lastMsn, lastPart } of playlist.reports) lines.push(tags.renditionReport(uri, lastMsn, lastPart));
  return `${lines.join('\n')}\n`;
}

/**
 * How many segments a delta update skips: those before the skip boundary, counted from the end of the last complete
 * segment, so that a player that measures from either end never misses one.
 */
export function skippableSegments({ segments }: WindowView, canSkipUntilS: number): number {
  const complete = segments.filter((segment) => segment.complete);
  return withinOfEnd(complete, canSkipUntilS);
}

/** Index of the first segment that ends at most so far from the end of the list. Counted in durations, as players do. */
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
  if (!segment.complete && segment.parts.length === 0) return;
  // These and the date apply to the first part too, so they stand before it (§4.4.4.9).
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

/** A segment's record never changes, and is listed in some hundred versions of its playlist: most of the work is done once. */
const LISTED = new WeakMap<Segment, string>();
const LISTED_WITH_PARTS = new WeakMap<Segment, string>();

function segmentText(uriPrefix: string, segment: Segment, withParts: boolean): string {
  const lines = [tags.programDateTime(segment.programDateTimeMs)];
  let gapShown = false;
  for (const part of withParts ? segment.parts : []) {
    const gap = part.resource === undefined;
    lines.push(tags.part(`${uriPrefix}/${part.name}`, part.durationS, { independent: part.independent, gap }));
    if (gap && !gapShown) lines.push(tags.gap());
    gapShown ||= gap;
  }
  if (segment.complete) {
    if (!gapShown && isGap(segment)) lines.push(tags.gap());
    lines.push(tags.extinf(durationOf(segment)), `${uriPrefix}/${segment.msn}.m4s`);
  }
  return lines.join('\n');
}

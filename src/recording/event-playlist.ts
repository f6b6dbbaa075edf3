/**
 * The playlists of a recorded rendition as text (rfc8216bis): an EVENT playlist, to which lines are only appended, and the VOD playlist of
 * an excerpt. The lines of a segment are made once and kept, so that an update renders only what is new.
 */
import { PlaylistText } from '#hls/rendered-playlist.ts';
import * as tags from '#hls/tags.ts';
import type { RecordedRendition, RecordedSegment, RecordingIndex } from './recording-index.ts';

/** The numbers of the first and the last segment that an excerpt needs, in any rendition. */
export interface SegmentSpan {
  readonly first: number;
  readonly last: number;
}

/** The name of a segment, relative to the folder of its rendition. */
export const recordedSegmentName = (number: number): string => `${number}.m4s`;
/** The name of an init segment, relative to the folder of its rendition. */
export const recordedInitName = (number: number): string => `init-${number}.mp4`;

/** The skip boundary of delta updates, in target durations (§4.4.3.8: at least six). Segments this close to the end are always listed. */
const SKIP_TARGETS = 6;
/** How often a playlist states the wall-clock time, besides at its beginning and after each discontinuity. */
const DATE_EVERY_S = 60;
/** By how much the stated duration of the last segment may exceed the real one: more than an audio frame, less than anybody perceives. */
const END_TOLERANCE_S = 0.1;

/** The EVENT playlist of one rendition, which grows with the recording. */
export class EventPlaylist {
  readonly #targetDurationS: number;
  #lines: Lines;
  #full: PlaylistText | undefined;
  #delta: PlaylistText | undefined;
  #renderedFor = { count: -1, hasEnded: false };

  constructor(targetDurationS: number) {
    this.#targetDurationS = targetDurationS;
    this.#lines = new Lines();
  }

  /**
   * Returns the playlist of the complete segments. The same object is returned until something changes.
   * @param index always that of the same recording
   * @param options.skip whether to return a delta update, if there is enough to skip
   * @param options.hasEnded whether it is the last version, to which nothing is appended
   */
  render(
    index: RecordingIndex,
    rendition: RecordedRendition,
    { skip, hasEnded }: { readonly skip: boolean; readonly hasEnded: boolean },
  ): PlaylistText {
    const { count } = this.#lines;
    this.#lines.addUntil(index, rendition, rendition.completeCount);
    // A line that viewers may have already stays as it is (rfc8216bis §6.2.1).
    if (hasEnded && count !== this.#lines.count) {
      this.#lines.lengthenEnd(longestS(index, 0, Infinity), this.#targetDurationS);
    }
    if (count !== this.#lines.count || this.#renderedFor.hasEnded !== hasEnded || this.#full === undefined) {
      this.#full = undefined;
      this.#delta = undefined;
      this.#renderedFor = { count: this.#lines.count, hasEnded };
    }
    const skipped = skip && !hasEnded ? this.#lines.countUntilEnd(SKIP_TARGETS * this.#targetDurationS) : 0;
    if (skipped > 0) {
      this.#delta ??= new PlaylistText(this.#text(hasEnded, skipped), hasEnded);
      return this.#delta;
    }
    this.#full ??= new PlaylistText(this.#text(hasEnded, 0), hasEnded);
    return this.#full;
  }

  #text(hasEnded: boolean, skipped: number): string {
    const head = [
      tags.head(),
      '#EXT-X-PLAYLIST-TYPE:EVENT',
      tags.targetDuration(this.#targetDurationS),
      // It stays in an ended playlist, of which no line may be removed (rfc8216bis §6.2.1).
      `#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=${(SKIP_TARGETS * this.#targetDurationS).toFixed(3)}`,
      tags.mediaSequence(this.#lines.firstNumber),
      tags.discontinuitySequence(this.#lines.discontinuitiesBefore),
      ...(skipped > 0 ? [tags.skip(skipped)] : []),
    ].join('\n');
    return `${head}\n${this.#lines.from(skipped)}${hasEnded ? `${tags.endList()}\n` : ''}`;
  }
}

/**
 * The VOD playlist of an excerpt. It has whole segments, so it begins before the excerpt and ends after it. EXT-X-START says where to
 * start.
 * @param startS where the excerpt begins in its first segment of the leading rendition, in seconds. Undefined: at the beginning
 * @returns undefined when the rendition has nothing in the span
 */
export function excerptPlaylist(
  index: RecordingIndex,
  rendition: RecordedRendition,
  options: { readonly span: SegmentSpan; readonly startS: number | undefined; readonly targetDurationS: number },
): string | undefined {
  const { span, startS, targetDurationS } = options;
  const lines = new Lines(span.first);
  const untilIndex = rendition.segments.indexFrom(span.last + 1);
  if (untilIndex <= rendition.segments.indexFrom(span.first)) return undefined;
  lines.addUntil(index, rendition, Math.min(untilIndex, rendition.completeCount));
  if (lines.count === 0) return undefined;
  lines.lengthenEnd(longestS(index, span.first, span.last + 1), targetDurationS);
  const head = [
    tags.head(),
    '#EXT-X-PLAYLIST-TYPE:VOD',
    tags.targetDuration(targetDurationS),
    tags.mediaSequence(lines.firstNumber),
    tags.discontinuitySequence(lines.discontinuitiesBefore),
    ...(startS === undefined ? [] : [`#EXT-X-START:TIME-OFFSET=${startS.toFixed(3)},PRECISE=YES`]),
  ].join('\n');
  return `${head}\n${lines.from(0)}${tags.endList()}\n`;
}

/** The lines of a rendition's segments, in their order. */
class Lines {
  readonly #fromNumber: number;
  /** The lines of each segment. A single text with all of them would be copied for every delta update. */
  readonly #texts: string[] = [];
  readonly #durationsS: number[] = [];
  /** The index of the next segment in the rendition's table. */
  #next: number | undefined;
  #nextNumber = 0;
  #init: number | undefined;
  #sinceDateS = Number.POSITIVE_INFINITY;
  firstNumber = 0;
  /** How many discontinuities come before the first segment. */
  discontinuitiesBefore = 0;

  /** @param fromNumber segments with smaller numbers are left out */
  constructor(fromNumber = 0) {
    this.#fromNumber = fromNumber;
  }

  get count(): number {
    return this.#texts.length;
  }

  /** Adds the segments up to an index of the rendition's table. */
  addUntil(index: RecordingIndex, rendition: RecordedRendition, untilIndex: number): void {
    const { segments } = rendition;
    if (this.#next === undefined) {
      const first = segments.at(segments.indexFrom(this.#fromNumber));
      if (first === undefined || segments.indexFrom(this.#fromNumber) >= untilIndex) return;
      this.#next = segments.indexOf(first.number);
      this.firstNumber = first.number;
      this.#nextNumber = first.number;
      this.discontinuitiesBefore = discontinuitiesBefore(index, first.number);
    }
    for (; this.#next < untilIndex; this.#next++) {
      const segment = segments.at(this.#next)!;
      while (this.#nextNumber < segment.number) this.#addMissing(index, rendition, this.#nextNumber);
      this.#add(rendition, segment);
    }
  }

  /**
   * Lengthens the stated duration of the last segment, so that all renditions last equally long. Does nothing where they differ by more
   * than END_TOLERANCE_S. Shaka Player 5.2 shortens every rendition to the shortest sum of durations, but ends the presentation with the
   * rendition that ends first. When the rendition with the shortest sum begins later than another one, the player waits at the end for
   * media forever.
   * @param toS the duration of the longest rendition, in seconds
   */
  lengthenEnd(toS: number, targetDurationS: number): void {
    const last = this.count - 1;
    const missingS = toS - this.#durationsS.reduce((sum, durationS) => sum + tags.writtenS(durationS), 0);
    const durationS = tags.writtenS(this.#durationsS[last] ?? 0) + missingS;
    if (last < 0 || missingS <= 0 || missingS > END_TOLERANCE_S || Math.round(durationS) > targetDurationS) return;
    this.#texts[last] = this.#texts[last]!.replace(tags.extinf(this.#durationsS[last]!), tags.extinf(durationS));
    this.#durationsS[last] = durationS;
  }

  /** The lines of all segments except the first `skipped` ones. */
  from(skipped: number): string {
    return this.#texts.slice(skipped).join('');
  }

  /** How many segments end more than `distanceS` seconds before the end of the playlist. */
  countUntilEnd(distanceS: number): number {
    let index = this.count;
    for (let afterS = 0; index > 0 && afterS <= distanceS; ) {
      index -= 1;
      afterS += this.#durationsS[index]!;
    }
    return index;
  }

  #add({ id }: RecordedRendition, segment: RecordedSegment): void {
    const { number, durationS, discontinuity, init, programDateTimeMs } = segment;
    const lines: string[] = [];
    if (discontinuity) this.#sinceDateS = Number.POSITIVE_INFINITY;
    if (init !== this.#init) lines.push(tags.map(`${id}/${recordedInitName(init)}`));
    if (this.#sinceDateS >= DATE_EVERY_S) {
      lines.push(tags.programDateTime(programDateTimeMs));
      this.#sinceDateS = 0;
    }
    this.#init = init;
    this.#sinceDateS += durationS;
    this.#push(id, { number, durationS, discontinuity }, lines);
  }

  /** Lists as a gap a segment that only other renditions have, so that renditions stay aligned. */
  #addMissing(index: RecordingIndex, { id }: RecordedRendition, number: number): void {
    const { durationS = 1, discontinuity = false } = segmentOfAny(index, number) ?? {};
    this.#sinceDateS = Number.POSITIVE_INFINITY;
    this.#push(id, { number, durationS, discontinuity }, ['#EXT-X-GAP']);
  }

  #push(
    id: string,
    { number, durationS, discontinuity }: Pick<RecordedSegment, 'number' | 'durationS' | 'discontinuity'>,
    lines: readonly string[],
  ): void {
    const begin = discontinuity ? [tags.discontinuity(), ...lines] : lines;
    this.#texts.push(`${[...begin, tags.extinf(durationS), `${id}/${recordedSegmentName(number)}`].join('\n')}\n`);
    this.#durationsS.push(durationS);
    this.#nextNumber = number + 1;
  }
}

/** The duration of the longest rendition, as stated, of the segments from `fromNumber` up to and without `untilNumber`. In seconds. */
function longestS({ renditions }: RecordingIndex, fromNumber: number, untilNumber: number): number {
  const sums = renditions.map(({ segments, completeCount }) => {
    const untilIndex = Math.min(segments.indexFrom(untilNumber), completeCount);
    const durationsS = segments.columns.durationsS.subarray(segments.indexFrom(fromNumber), untilIndex);
    return durationsS.reduce((sum, durationS) => sum + tags.writtenS(durationS), 0);
  });
  return Math.max(0, ...sums);
}

function segmentOfAny({ renditions }: RecordingIndex, number: number): RecordedSegment | undefined {
  for (const { segments } of renditions) {
    const segment = segments.at(segments.indexOf(number));
    if (segment !== undefined) return segment;
  }
  return undefined;
}

/** How many segments before a number begin with a discontinuity. All renditions agree on this. */
function discontinuitiesBefore({ leader }: RecordingIndex, number: number): number {
  if (leader === undefined) return 0;
  let count = 0;
  for (let at = 0; at < leader.segments.count; at++) {
    const segment = leader.segments.at(at)!;
    if (segment.number >= number) break;
    count += Number(segment.discontinuity);
  }
  return count;
}

/**
 * The playlists of a recorded rendition as text (rfc8216bis): an EVENT playlist of the whole rendition, to which lines are only appended,
 * and the playlists of excerpts. An excerpt has an EVENT playlist while the recording runs, and a VOD playlist afterwards. The lines of a
 * segment are made once and kept, so that an update renders only what is new. Once they are made, an excerpt of a day, which any viewer may
 * ask for, takes a few milliseconds of the event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import * as tags from '#hls/tags.ts';
import type { SegmentSpan } from './needed-segments.ts';
import type { RecordedRendition, RecordedSegment, RecordingIndex } from './recording-index.ts';

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

/** How many segments {@link RecordedPlaylists.prepare} handles before it lets other work run: about 2 ms of the event loop. */
const PIECE = 2000;

/** The playlists of one rendition, which grow with the recording. */
export class RecordedPlaylists {
  readonly #targetDurationS: number;
  #lines: Lines;
  #full: PlaylistText | undefined;
  #delta: PlaylistText | undefined;
  #renderedFor = { count: -1, hasEnded: false };
  /** Shared by all who wait for it, so that each piece is made by one of them only. */
  #preparing: Promise<void> | undefined;

  constructor(targetDurationS: number) {
    this.#targetDurationS = targetDurationS;
    this.#lines = new Lines();
  }

  /**
   * Does the work that grows with the length of the recording, in pieces, so that the first playlist of a long recording does not block the
   * event loop. Segments that are completed afterwards are left to the next call of any method.
   */
  prepare(index: RecordingIndex, rendition: RecordedRendition): Promise<void> {
    this.#preparing ??= this.#prepare(index, rendition).finally(() => (this.#preparing = undefined));
    return this.#preparing;
  }

  async #prepare(index: RecordingIndex, rendition: RecordedRendition): Promise<void> {
    const { completeCount } = rendition;
    while (this.#lines.addUntil(index, rendition, completeCount, PIECE)) await nextTurn();
    for (const each of index.renditions) while (sumDurations(each, PIECE)) await nextTurn();
  }

  /**
   * Returns the EVENT playlist of the complete segments. The same object is returned until something changes.
   * @param index always that of the same recording
   * @param options.skip whether to return a delta update, if there is enough to skip
   * @param options.hasEnded whether it is the last version, to which nothing is appended
   */
  whole(
    index: RecordingIndex,
    rendition: RecordedRendition,
    { skip, hasEnded }: { readonly skip: boolean; readonly hasEnded: boolean },
  ): PlaylistText {
    this.#lines.addUntil(index, rendition, rendition.completeCount);
    const isLonger = this.#renderedFor.count !== this.#lines.count;
    // A line that viewers may have already stays as it is (rfc8216bis §6.2.1).
    if (hasEnded && isLonger) this.#lines.lengthenEnd(longest(index, 0, Infinity), this.#targetDurationS);
    if (isLonger || this.#renderedFor.hasEnded !== hasEnded) {
      this.#full = undefined;
      this.#delta = undefined;
      this.#renderedFor = { count: this.#lines.count, hasEnded };
    }
    const skipped = skip && !hasEnded ? this.#lines.countFarFromEnd(SKIP_TARGETS * this.#targetDurationS) : 0;
    if (skipped > 0) {
      this.#delta ??= new PlaylistText(this.#text(hasEnded, skipped), hasEnded);
      return this.#delta;
    }
    this.#full ??= new PlaylistText(this.#text(hasEnded, 0), hasEnded);
    return this.#full;
  }

  /**
   * Returns the playlist of an excerpt. It has whole segments, so it begins before the excerpt and ends after it. EXT-X-START says where to
   * start. While the recording runs, it is an EVENT playlist, which ends once the excerpt is complete. Undefined when the rendition has
   * nothing in the span.
   * @param index always that of the same recording
   * @param options.startS where the excerpt begins in its first segment of the leading rendition, in seconds. Undefined: at the beginning
   * @param options.isRunning whether the recording may still grow
   * @param options.isComplete whether nothing will be added to the excerpt
   */
  excerpt(
    index: RecordingIndex,
    rendition: RecordedRendition,
    {
      span,
      startS,
      isRunning,
      isComplete,
    }: {
      readonly span: SegmentSpan;
      readonly startS: number | undefined;
      readonly isRunning: boolean;
      readonly isComplete: boolean;
    },
  ): string | undefined {
    const { segments, completeCount } = rendition;
    const from = segments.indexFrom(span.first);
    const until = Math.min(segments.indexFrom(span.last + 1), completeCount);
    if (from >= until) return undefined;
    this.#lines.addUntil(index, rendition, completeCount);
    const first = segments.at(from)!.number;
    const last = segments.at(until - 1)!.number;
    // The first segment names its init segment and its time, whatever came before it.
    const begin = new Lines(first);
    begin.addUntil(index, rendition, from + 1);
    const text = begin.followedBy(this.#lines, last, {
      // While more may be added, a line that viewers may already have must not change (rfc8216bis §6.2.1).
      lengthenedTo: isComplete ? longest(index, span.first, span.last + 1) : 0,
      targetDurationS: this.#targetDurationS,
    });
    const head = [
      tags.head(),
      `#EXT-X-PLAYLIST-TYPE:${isRunning ? 'EVENT' : 'VOD'}`,
      tags.targetDuration(this.#targetDurationS),
      tags.mediaSequence(first),
      tags.discontinuitySequence(begin.discontinuitiesBefore),
      ...(startS === undefined ? [] : [`#EXT-X-START:TIME-OFFSET=${startS.toFixed(3)},PRECISE=YES`]),
    ].join('\n');
    return `${head}\n${text}${isComplete ? `${tags.endList()}\n` : ''}`;
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

/** The lines of a rendition's segments, in their order. */
class Lines {
  readonly #fromNumber: number;
  /** The lines of each segment. A single text with all of them would be copied for every delta update. */
  readonly #texts: string[] = [];
  readonly #durationsS: number[] = [];
  /**
   * For each segment, the sum of the stated durations up to its end, in {@link UNITS_PER_S}. It includes segments that only other
   * renditions have and the lengthened end, which {@link durationsBefore} does not.
   */
  readonly #sums: number[] = [];
  /** The index of the next segment in the rendition's table. */
  #next: number | undefined;
  #nextNumber = 0;
  #init: number | undefined;
  #sinceDateS = Number.POSITIVE_INFINITY;
  /** The wall-clock time at which the lines end, by their dates and durations, in milliseconds. */
  #endMs = 0;
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

  /**
   * Adds the segments up to an index of the rendition's table.
   * @param atMost the largest number to add
   * @returns whether there are more
   */
  addUntil(index: RecordingIndex, rendition: RecordedRendition, untilIndex: number, atMost = Infinity): boolean {
    const { segments } = rendition;
    const maxCount = this.count + atMost;
    if (this.#next === undefined) {
      const first = segments.at(segments.indexFrom(this.#fromNumber));
      if (first === undefined || segments.indexFrom(this.#fromNumber) >= untilIndex) return false;
      this.#next = segments.indexOf(first.number);
      this.firstNumber = first.number;
      this.#nextNumber = first.number;
      this.discontinuitiesBefore = discontinuitiesBefore(index, first.number);
    }
    while (this.#next < untilIndex && this.count < maxCount) {
      const segment = segments.at(this.#next)!;
      if (this.#nextNumber < segment.number) {
        this.#addMissing(index, rendition, segment);
      } else {
        this.#add(rendition, { ...segment, discontinuity: isDiscontinuous(index, segment) });
        this.#next += 1;
      }
    }
    return this.#next < untilIndex;
  }

  /**
   * Returns these lines, which must be those of a single segment, followed by the lines that `others` has for the segments after it, up to
   * segment `lastNumber`. The last duration is lengthened as by {@link Lines.lengthenEnd}.
   */
  followedBy(
    others: Lines,
    lastNumber: number,
    { lengthenedTo, targetDurationS }: { readonly lengthenedTo: number; readonly targetDurationS: number },
  ): string {
    const from = this.#nextNumber - others.firstNumber;
    const end = lastNumber - others.firstNumber;
    const missing = lengthenedTo - this.#sums.at(-1)!;
    if (end < from)
      return lengthened({ text: this.#texts[0]!, durationS: this.#durationsS[0]! }, missing, targetDurationS).text;
    const last = { text: others.#texts[end]!, durationS: others.#durationsS[end]! };
    const following = others.#sums[end]! - others.#sums[from - 1]!;
    const { text } = lengthened(last, missing - following, targetDurationS);
    return this.from(0) + others.#texts.slice(from, end).join('') + text;
  }

  /**
   * Lengthens the stated duration of the last segment, so that all renditions last equally long. Does nothing where they differ by more
   * than END_TOLERANCE_S. Shaka Player 5.2 shortens every rendition to the shortest sum of durations, but ends the presentation with the
   * rendition that ends first. When the rendition with the shortest sum begins later than another one, the player waits at the end for
   * media forever.
   * @param to the duration of the longest rendition, in {@link UNITS_PER_S}
   */
  lengthenEnd(to: number, targetDurationS: number): void {
    const last = this.count - 1;
    if (last < 0) return;
    const before = { text: this.#texts[last]!, durationS: this.#durationsS[last]! };
    const { text, durationS } = lengthened(before, to - this.#sums[last]!, targetDurationS);
    this.#sums[last]! += unitsOf(durationS) - unitsOf(before.durationS);
    this.#texts[last] = text;
    this.#durationsS[last] = durationS;
  }

  /** The lines of all segments except the first `skipped` ones. */
  from(skipped: number): string {
    return this.#texts.slice(skipped).join('');
  }

  /** How many segments end more than `distanceS` seconds before the end of the playlist. */
  countFarFromEnd(distanceS: number): number {
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
    this.#endMs = programDateTimeMs;
    this.#push(id, { number, durationS, discontinuity }, lines);
  }

  /**
   * Adds a gap in place of a segment that only other renditions have, so that renditions stay aligned. A gap right before the next segment
   * lasts until that begins: segments of other renditions may be longer or shorter by a fraction of a frame.
   */
  #addMissing(index: RecordingIndex, { id }: RecordedRendition, next: RecordedSegment): void {
    const number = this.#nextNumber;
    const other = segmentOfAny(index, number);
    const { discontinuity = false } = other ?? {};
    const otherS = other?.durationS ?? 1;
    const untilNextS = (next.programDateTimeMs - this.#endMs) / 1000;
    const isExact = number + 1 === next.number && Math.abs(untilNextS - otherS) <= END_TOLERANCE_S;
    const durationS = isExact ? untilNextS : otherS;
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
    this.#endMs += tags.writtenS(durationS) * 1000;
    this.#sums.push((this.#sums.at(-1) ?? 0) + unitsOf(durationS));
    this.#nextNumber = number + 1;
  }
}

/** Durations are stated in multiples of this part of a second, so that sums of them are exact. */
const UNITS_PER_S = 100_000;
/** A duration as playlists state it, in {@link UNITS_PER_S}. */
const unitsOf = (durationS: number): number => Math.round(tags.writtenS(durationS) * UNITS_PER_S);

interface Line {
  readonly text: string;
  readonly durationS: number;
}

/** A line with a longer stated duration; see {@link Lines.lengthenEnd}. @param missing by how much, in {@link UNITS_PER_S} */
function lengthened(line: Line, missing: number, targetDurationS: number): Line {
  const durationS = (unitsOf(line.durationS) + missing) / UNITS_PER_S;
  if (missing <= 0 || missing > END_TOLERANCE_S * UNITS_PER_S || Math.round(durationS) > targetDurationS) return line;
  return { text: line.text.replace(tags.extinf(line.durationS), tags.extinf(durationS)), durationS };
}

/** By a rendition's table of segments: for each complete segment, the sum of the stated durations before it, in {@link UNITS_PER_S}. */
const durationsBefore = new WeakMap<object, number[]>();

/** Brings the sums of a rendition up to date. @param atMost how many are added @returns whether there are more */
function sumDurations({ segments, completeCount }: RecordedRendition, atMost = Infinity): boolean {
  const before = durationsBefore.get(segments) ?? [0];
  durationsBefore.set(segments, before);
  const until = Math.min(completeCount, before.length - 1 + atMost);
  for (let at = before.length - 1; at < until; at++) {
    before.push(before[at]! + unitsOf(segments.columns.durationsS[at]!));
  }
  return until < completeCount;
}

/** The longest stated duration, among renditions, of the segments from `fromNumber` to before `untilNumber`, in {@link UNITS_PER_S}. */
function longest({ renditions }: RecordingIndex, fromNumber: number, untilNumber: number): number {
  const sums = renditions.map((rendition) => {
    sumDurations(rendition);
    const { segments, completeCount } = rendition;
    const before = durationsBefore.get(segments)!;
    const until = Math.min(segments.indexFrom(untilNumber), completeCount);
    return before[until]! - before[Math.min(segments.indexFrom(fromNumber), until)]!;
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

/**
 * Whether a segment begins with a discontinuity. The leading rendition decides for all. When another rendition ends alone, its last segment
 * continues it without a discontinuity, although the segment with the same number has one in the others.
 */
function isDiscontinuous({ leader }: RecordingIndex, { number, discontinuity }: RecordedSegment): boolean {
  return leader?.segments.at(leader.segments.indexOf(number))?.discontinuity ?? discontinuity;
}

/** How many segments before a number begin with a discontinuity. All renditions agree on this. */
function discontinuitiesBefore({ leader }: RecordingIndex, number: number): number {
  if (leader === undefined) return 0;
  const { segments } = leader;
  const { flags } = segments.columns;
  const until = segments.indexFrom(number);
  let count = 0;
  for (let at = 0; at < until; at++) count += flags[at]! & 1;
  return count;
}

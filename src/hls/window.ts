/**
 * The window: the segments and parts that one media playlist lists, and when each of them is removed.
 */
import { LEAST_SEGMENTS, LONGER_BY, type MediaResource, wantedListS } from './hls.ts';
import type { ListStarts, StartedList } from './list-starts.ts';

/** A partial segment. */
export interface Part {
  /** The name of its resource, relative to the rendition. */
  readonly name: string;
  readonly durationS: number;
  /** Whether it contains a frame that a decoder can start with. */
  readonly independent: boolean;
  readonly resource: MediaResource;
}

/** A media segment. The last one of a window may still be growing. */
export interface Segment {
  readonly msn: number;
  /** The session time in seconds, by decoding times. */
  readonly startS: number;
  readonly endS: number;
  /** The wall-clock time of its first sample, in milliseconds since the Unix epoch. */
  readonly programDateTimeMs: number;
  readonly discontinuity: boolean;
  /** The value of EXT-X-DISCONTINUITY-SEQUENCE in a playlist that begins with this segment. */
  readonly discontinuitySequence: number;
  readonly independent: boolean;
  /** The name of its init segment. */
  readonly init: string;
  readonly parts: readonly Part[];
  /** Whether no part will be added. */
  readonly complete: boolean;
}

/** What a window lists at one moment. */
export interface WindowView {
  /** The segments in order. Only the last may be incomplete. Never empty once a part exists. */
  readonly segments: readonly Segment[];
}

/** The limits of a window's length. */
export interface WindowLimits {
  readonly windowS: number;
  readonly targetDurationS: number;
  /** Decides where the lists of all renditions of the session begin. */
  readonly listStarts: ListStarts;
}

/**
 * A list begins with every fourth segment only. Players load the lists of audio and video one after the other, perhaps from a cache, and one
 * of them may have lost a segment in the meantime (see {@link ListStarts}). The less often a list loses segments, the rarer this is.
 */
const START_EVERY = 4;

/** The duration of a segment, as in EXTINF. */
export function durationOf({ startS, endS }: Segment): number {
  return endS - startS;
}

/** The listed segments of one rendition, and those that have left the list but can still be fetched. */
export class Window implements WindowView, StartedList {
  readonly #limits: WindowLimits;
  #segments: readonly Segment[] = [];
  readonly #retired: { readonly segment: Segment; readonly untilS: number }[] = [];

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** The segment that is still growing. */
  get open(): Segment | undefined {
    const last = this.#segments.at(-1);
    return last?.complete === false ? last : undefined;
  }

  /** The init segment of the oldest segment that can be fetched. */
  get oldestInit(): string | undefined {
    return (this.#retired[0]?.segment ?? this.#segments[0])?.init;
  }

  /** Begins a segment. The previous one must be complete. When a segment is left out between them, the list begins again with this one. */
  begin(segment: Omit<Segment, 'endS' | 'parts' | 'complete'>): void {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.msn + 1 !== segment.msn) this.#retire(segment.startS, segment.msn);
    this.#segments = [...this.#segments, { ...segment, endS: segment.startS, parts: [], complete: false }];
  }

  /** Adds a part to the growing segment, which then ends at `endS`. */
  add(part: Part, endS: number): void {
    const open = this.open;
    if (open !== undefined) this.#replaceLast({ ...open, endS, parts: [...open.parts, part] });
  }

  /**
   * Completes the growing segment, which ends at `endS`, and retires segments that were listed long enough.
   * @returns the complete segment
   */
  complete(open: Segment, endS: number): Segment {
    const complete = { ...open, endS, complete: true };
    this.#replaceLast(complete);
    this.#limits.listStarts.completed(this, complete.msn, this.#wantedMsn());
    return complete;
  }

  startAt(msn: number): void {
    // §6.2.2: removing segments must not make a playlist shorter than three target durations.
    const { msn: mostMsn } = this.#lastStart(3 * this.#limits.targetDurationS);
    this.#retire(this.#segments.at(-1)?.endS ?? 0, Math.min(msn, mostMsn));
  }

  /** Removes the retired segments that need not be kept any longer, and returns them. @param nowS session time in seconds */
  takeExpired(nowS: number): readonly Segment[] {
    const count = this.#retired.findIndex(({ untilS }) => untilS > nowS);
    return this.#retired.splice(0, count === -1 ? this.#retired.length : count).map(({ segment }) => segment);
  }

  /** Removes the oldest retired segment early, because memory is short, and returns it. Undefined when there is none. */
  takeRetired(): Segment | undefined {
    return this.#retired.shift()?.segment;
  }

  #replaceLast(segment: Segment): void {
    this.#segments = [...this.#segments.slice(0, -1), segment];
  }

  /** The first segment of a list as long as wanted or a little longer. Undefined while the list is shorter. */
  #wantedMsn(): number | undefined {
    const wantedS = wantedListS(this.#limits);
    if (lengthOf(this.#segments) < wantedS) return undefined;
    const { msn } = this.#lastStart(wantedS);
    const even = this.#segments.findLast((segment) => segment.msn <= msn && segment.msn % START_EVERY === 0);
    if (even === undefined) return msn;
    const list = this.#segments.slice(this.#segments.indexOf(even));
    return lengthOf(list) <= (1 + LONGER_BY) * wantedS ? even.msn : msn;
  }

  /** The last segment with which the list may begin, so that it keeps at least this duration in seconds. */
  #lastStart(leastS: number): Segment {
    let listedS = lengthOf(this.#segments);
    let start = 0;
    for (const segment of this.#segments.slice(0, -LEAST_SEGMENTS)) {
      listedS -= durationOf(segment);
      if (listedS < leastS) break;
      start += 1;
    }
    return this.#segments[start]!;
  }

  /** Removes segments from the list, and keeps them fetchable for a while. @param firstMsn the first segment that stays */
  #retire(nowS: number, firstMsn: number): void {
    if (this.#segments[0] === undefined || this.#segments[0].msn >= firstMsn) return;
    const listedS = lengthOf(this.#segments);
    for (const segment of this.#segments.filter(({ msn }) => msn < firstMsn)) {
      // §6.2.2: a segment stays fetchable for its duration plus that of the longest playlist that listed it. Parts need less.
      this.#retired.push({ segment, untilS: nowS + durationOf(segment) + listedS });
    }
    this.#segments = this.#segments.filter(({ msn }) => msn >= firstMsn);
  }
}

/** The duration of a list of segments, in seconds. */
function lengthOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + durationOf(segment), 0);
}

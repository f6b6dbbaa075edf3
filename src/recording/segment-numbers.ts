/**
 * Numbers the segments of a recording: a pure rule. The media sequence numbers of the live stream jump when the server starts again, and
 * they also count segments that are not kept. A recording counts only the segments that it keeps, and a segment has the same number in all
 * renditions.
 */

import { BoundedMap } from '#lib/bounded-map.ts';

/** The number of a segment, and whether it does not continue the segment before it. */
export interface NumberedSegment {
  readonly number: number;
  readonly discontinuity: boolean;
}

/** How many live segments are remembered. One rendition is at most a few segments ahead of another. */
const REMEMBERED = 64;

/** Gives out numbers. At first it is suspended, and no segment gets a number until {@link SegmentNumbers.resume}. */
export class SegmentNumbers {
  readonly #numbered = new BoundedMap<number, NumberedSegment>(REMEMBERED);
  #next: number;
  #newestMsn = -1;
  #isBroken: boolean;
  /** The earliest live segment that some rendition has left out, of those after the newest live segment that has a number. */
  #leftOut = Infinity;
  #isFirst: boolean;
  #isSuspended = true;

  /** @param next the number of the next segment; above 0 when a recording is continued */
  constructor(next = 0) {
    this.#next = next;
    this.#isFirst = next === 0;
    this.#isBroken = !this.#isFirst;
  }

  /** Whether new segments are being left out. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** The number of a live segment. Undefined until the first rendition keeps it. */
  of(msn: number): NumberedSegment | undefined {
    return this.#numbered.get(msn);
  }

  /**
   * Numbers a live segment. Undefined when it is to be left out: while suspended, and when a later segment has a number already.
   * @param discontinuity whether the segment of this rendition begins with a discontinuity. A rendition that ended alone may have given the
   *   same number to its last segment before, without a discontinuity
   */
  keep(msn: number, discontinuity: boolean): NumberedSegment | undefined {
    const known = this.#numbered.get(msn);
    if (known !== undefined) {
      const isFirst = known.number === 0;
      return discontinuity && !isFirst ? this.#number(msn, { ...known, discontinuity }) : known;
    }
    if (this.#isSuspended || msn <= this.#newestMsn) return undefined;
    const isBroken = discontinuity || this.#isBroken || this.#leftOut < msn;
    const numbered = { number: this.#next, discontinuity: !this.#isFirst && isBroken };
    this.#next += 1;
    this.#newestMsn = msn;
    this.#isFirst = false;
    this.#isBroken = false;
    this.#leftOut = Infinity;
    return this.#number(msn, numbered);
  }

  /** Notes that a rendition leaves a live segment out. Another rendition may keep it nevertheless. */
  leaveOut(msn: number): void {
    if (msn > this.#newestMsn) this.#leftOut = Math.min(this.#leftOut, msn);
  }

  /** Leaves out all segments until {@link resume}, also those that have a number in another rendition already. */
  suspend(): void {
    this.#isSuspended = true;
    this.#isBroken = true;
    this.#numbered.clear();
  }

  /** Ends the suspension, and numbers the live segment with which the recording goes on. */
  resume(msn: number): NumberedSegment | undefined {
    this.#isSuspended = false;
    return this.keep(msn, false);
  }

  #number(msn: number, numbered: NumberedSegment): NumberedSegment {
    this.#numbered.set(msn, numbered);
    return numbered;
  }
}

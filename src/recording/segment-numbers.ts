/**
 * The numbers of a recording's segments: a pure rule. Live media sequence numbers jump when the server starts again, and count segments
 * that are not kept. A recording counts what it keeps, the same in all renditions.
 */

import { BoundedMap } from '#lib/bounded-map.ts';

/** The number of a segment, and whether it does not continue the one before. */
export interface NumberedSegment {
  readonly number: number;
  readonly discontinuity: boolean;
}

/** How many live segments are remembered. Renditions are at most a few segments apart. */
const REMEMBERED = 64;

/** Gives out numbers. At first everything is left out, until {@link SegmentNumbers.resume}. */
export class SegmentNumbers {
  readonly #numbered = new BoundedMap<number, NumberedSegment>(REMEMBERED);
  #next: number;
  #newestMsn = -1;
  #isBroken: boolean;
  #isFirst: boolean;
  #isSuspended = true;

  /** @param next the number of the next segment; above 0 when a recording is continued */
  constructor(next = 0) {
    this.#next = next;
    this.#isFirst = next === 0;
    this.#isBroken = !this.#isFirst;
  }

  /** Whether media is being left out. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** The number that a live segment has. Undefined while no rendition has begun to keep it. */
  of(msn: number): NumberedSegment | undefined {
    return this.#numbered.get(msn);
  }

  /** Numbers a live segment that is kept. Undefined for one that is left out, because a later one has been kept already. */
  keep(msn: number, discontinuity: boolean): NumberedSegment | undefined {
    const known = this.#numbered.get(msn);
    if (known !== undefined) return known;
    if (this.#isSuspended || msn <= this.#newestMsn) return undefined;
    const numbered = { number: this.#next, discontinuity: !this.#isFirst && (discontinuity || this.#isBroken) };
    this.#next += 1;
    this.#newestMsn = msn;
    this.#isFirst = false;
    this.#isBroken = false;
    this.#numbered.set(msn, numbered);
    return numbered;
  }

  /** Notes that a live segment is left out in all renditions. */
  leaveOut(msn: number): void {
    if (!this.#numbered.has(msn)) this.#isBroken = true;
  }

  /** Leaves out everything that has no number yet. */
  suspend(): void {
    this.#isSuspended = true;
    this.#isBroken = true;
    this.#numbered.clear();
  }

  /** Ends the suspension with a live segment, which is the next one that is kept. */
  resume(msn: number): NumberedSegment | undefined {
    this.#isSuspended = false;
    return this.keep(msn, false);
  }
}

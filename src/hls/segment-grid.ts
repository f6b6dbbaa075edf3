/**
 * The segments of a session as all its renditions share them: when each begins, and which ones begin anew.
 */

/** Where a segment begins. */
export interface Cut {
  /** Of what is shown first, session time in seconds: renditions that reorder pictures begin to decode earlier than others. */
  readonly startS: number;
  readonly discontinuity: boolean;
}

/** Cuts remembered: far more than renditions can lie apart, as they are kept in step. */
const REMEMBERED = 64;

/**
 * Remembers the cuts of a session. The rendition that comes to an ordinal first states it; the others obey, so that
 * discontinuities match in every playlist (Apple 8.15), also where one has nothing but a gap to show.
 */
export class SegmentGrid {
  readonly #cuts = new Map<number, Cut>();
  #last = -1;
  #forgottenDiscontinuities = 0;
  readonly #continued: boolean;

  /** @param continued the first segment does not continue from what an older playlist listed last */
  constructor(continued: boolean) {
    this.#continued = continued;
  }

  /** The latest ordinal any rendition came to; -1 before the first. */
  get last(): number {
    return this.#last;
  }

  /** The cut at an ordinal, which is `proposed` when nobody came there before. */
  at(ordinal: number, proposed: Cut): Cut {
    const known = this.#cuts.get(ordinal);
    if (known !== undefined) return known;
    const first = this.#last === -1;
    const cut = first && this.#continued ? { ...proposed, discontinuity: true } : proposed;
    this.#cuts.set(ordinal, cut);
    this.#last = Math.max(this.#last, ordinal);
    if (this.#cuts.size > REMEMBERED) this.#forgetFirst();
    return cut;
  }

  /** The cut at an ordinal; undefined when no rendition came there yet, or long ago. */
  find(ordinal: number): Cut | undefined {
    return this.#cuts.get(ordinal);
  }

  /** Discontinuities before a segment, its own not counted: what its playlist's EXT-X-DISCONTINUITY-SEQUENCE adds. */
  discontinuitiesBefore(ordinal: number): number {
    let count = this.#forgottenDiscontinuities;
    for (const [each, cut] of this.#cuts) if (each < ordinal && cut.discontinuity) count += 1;
    return count;
  }

  #forgetFirst(): void {
    const [first] = this.#cuts;
    if (first === undefined) return;
    this.#cuts.delete(first[0]);
    if (first[1].discontinuity) this.#forgottenDiscontinuities += 1;
  }
}

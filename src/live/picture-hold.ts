/**
 * Says when the picture is held: a publisher may send none for a while, a screen on which nothing moves, though its sound goes on.
 *
 * A transcoder cannot tell that from one that is late, and what its encoders hold would wait for the next picture, however long.
 * Pure: no clock.
 */

/** How much later than the sound of the same time a picture may come, besides what it always does, before it is thought missing. */
const LATE_S = 0.4;

/** The rule for one run of a publisher. Times in seconds of session time. */
export class PictureHold {
  #passedS = Number.NEGATIVE_INFINITY;
  /** How much further time was when the newest picture came; such a one may be that late again. */
  #behindS = 0;
  /** When a picture was shown last, for the first time or again. */
  #shownS: number;
  readonly #stepS: number;
  #isHeld = false;

  /**
   * @param firstS when the first picture is shown
   * @param stepS how often a picture is shown again; one that is later than this by less is not late
   */
  constructor(firstS: number, stepS: number) {
    this.#shownS = firstS;
    this.#stepS = stepS;
  }

  /**
   * A picture came.
   * @returns when the one before is to be shown again until then, where it is held already
   */
  sawPicture(dtsS: number, ptsS: number): readonly number[] {
    // Not just before it: that would be more pictures a second than there ever are.
    const times = this.#isHeld ? this.#showUntil(dtsS - this.#stepS / 2) : [];
    this.#isHeld = false;
    this.#behindS = Math.max(0, this.#passedS - dtsS);
    this.#shownS = Math.max(ptsS, this.#shownS);
    return times;
  }

  /**
   * Time has come to here: sound of this time came, where there is any.
   * @returns when the picture shown last is to be shown again: no picture for any of these times is still to come
   */
  passed(atS: number): readonly number[] {
    this.#passedS = Math.max(this.#passedS, atS);
    const times = this.#showUntil(this.#passedS - this.#behindS - LATE_S);
    this.#isHeld ||= times.length > 0;
    return times;
  }

  #showUntil(endS: number): readonly number[] {
    const times: number[] = [];
    while (this.#shownS + this.#stepS < endS) {
      this.#shownS += this.#stepS;
      times.push(this.#shownS);
    }
    return times;
  }
}

/**
 * Says when the picture is held: a publisher may send none for a while, a screen on which nothing moves, though its sound goes on.
 *
 * A transcoder cannot tell that from one that is late, and what its encoders hold would wait for the next picture, however long.
 * Pure: no clock.
 */
import { PictureRhythm } from '#media/picture-rhythm.ts';

/** How much later than the sound of the same time a picture may come, besides what it always does, before it is thought missing. */
const LATE_S = 0.4;
/** The longest time, in seconds, for which a frame is repeated at once: a publisher's timestamps must not decide how often. */
const MAX_SHOWN_S = 15;

/** The rule for one run of a publisher. Times in seconds of session time. */
export class PictureHold {
  #passedS = Number.NEGATIVE_INFINITY;
  /** How much further time was when the newest picture came; such a one may be that late again. */
  #behindS = 0;
  /** When a picture was shown last, for the first time or again. */
  #shownS: number;
  readonly #rhythm: PictureRhythm;
  #isHeld = false;

  /**
   * @param firstS when the first picture is shown
   * @param framesPerSecond to be expected
   */
  constructor(firstS: number, framesPerSecond: number) {
    this.#shownS = firstS;
    this.#rhythm = new PictureRhythm(framesPerSecond);
  }

  /**
   * A picture came.
   * @returns when the one before is to be shown again until then, where it is held already
   */
  sawPicture(dtsS: number, ptsS: number): readonly number[] {
    // Not just before it: that would be more pictures a second than there ever are.
    const times = this.#isHeld ? this.#showUntil(dtsS - this.#rhythm.stepS / 2) : [];
    this.#rhythm.saw(dtsS);
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
    const untilS = this.#passedS - this.#behindS - LATE_S;
    this.#isHeld ||= untilS > this.#shownS + this.#rhythm.patienceS;
    return this.#isHeld ? this.#showUntil(untilS) : [];
  }

  #showUntil(endS: number): readonly number[] {
    const { stepS } = this.#rhythm;
    const times: number[] = [];
    this.#shownS = Math.max(this.#shownS, endS - MAX_SHOWN_S);
    while (this.#shownS + stepS < endS) {
      this.#shownS += stepS;
      times.push(this.#shownS);
    }
    this.#rhythm.repeated();
    return times;
  }
}

/**
 * Says when the last frame is held: a publisher may send no frames for a while, as of a screen on which nothing moves, while its audio
 * goes on.
 *
 * A transcoder cannot tell a pause from a frame that is late, and what its encoders hold would wait for the next frame, however long.
 * Pure: no clock.
 */
import { FrameRhythm } from '#media/frame-rhythm.ts';

/** How much later than the audio of the same time a frame may come, besides what it always does, before it is taken to be missing. */
const LATE_S = 0.4;
/** The longest time, in seconds, for which a frame is held at once: a publisher's timestamps must not decide how often. */
const MAX_HELD_S = 15;

/** The rule for one run of a publisher. Times in seconds of session time. */
export class FrameHold {
  #passedS = Number.NEGATIVE_INFINITY;
  /** How much further time was when the newest frame came; such a frame may be that late again. */
  #lateS = 0;
  /** When a frame was shown last, for the first time or again. */
  #shownS: number;
  readonly #rhythm: FrameRhythm;
  #isHeld = false;

  /**
   * @param firstS when the first frame is shown
   * @param framesPerSecond the frame rate to be expected
   */
  constructor(firstS: number, framesPerSecond: number) {
    this.#shownS = firstS;
    this.#rhythm = new FrameRhythm(framesPerSecond);
  }

  /** How far apart held frames are, in seconds: about as far as the source's own frames, and at most 2 s. */
  get stepS(): number {
    return this.#rhythm.stepS;
  }

  /**
   * A frame came.
   * @returns when the frame before is to be shown again until then, if it is held already
   */
  sawFrame(dtsS: number, ptsS: number): readonly number[] {
    // Not just before it: that would be more frames a second than there ever are.
    const times = this.#isHeld ? this.#holdUntil(dtsS - this.#rhythm.stepS / 2) : NONE;
    this.#rhythm.saw(dtsS);
    this.#isHeld = false;
    this.#lateS = Math.max(0, this.#passedS - dtsS);
    this.#shownS = Math.max(ptsS, this.#shownS);
    return times;
  }

  /**
   * Time has come to here: audio of this time came, where there is any.
   * @returns when the frame shown last is to be shown again: no frame for any of these times is still to come
   */
  passed(atS: number): readonly number[] {
    this.#passedS = Math.max(this.#passedS, atS);
    const untilS = this.#passedS - this.#lateS - LATE_S;
    this.#isHeld ||= untilS > this.#shownS + this.#rhythm.patienceS;
    return this.#isHeld ? this.#holdUntil(untilS) : NONE;
  }

  #holdUntil(endS: number): readonly number[] {
    const { stepS } = this.#rhythm;
    const times: number[] = [];
    this.#shownS = Math.max(this.#shownS, endS - MAX_HELD_S);
    while (this.#shownS + stepS < endS) {
      this.#shownS += stepS;
      times.push(this.#shownS);
    }
    this.#rhythm.repeated();
    return times;
  }
}

const NONE: readonly number[] = [];

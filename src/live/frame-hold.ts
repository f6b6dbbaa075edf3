/**
 * Decides when the last frame is held. A publisher may send no frames for a while although its audio continues, for example while nothing
 * moves on the screen that it shows.
 *
 * A transcoder cannot distinguish a pause from a late frame, and the frames that its encoders hold back would wait for the next one,
 * however long that takes. Pure: no clock.
 */
import { FrameRhythm } from '#media/frame-rhythm.ts';

/** How much later than the audio of the same time a frame may come, in addition to its usual delay, before it is taken to be missing. */
const LATE_S = 0.4;
/** The longest time, in seconds, that one call fills with repeats, so that a publisher's timestamps cannot cause any number of them. */
const MAX_HELD_S = 15;

/** The frame hold for one connection of a publisher. Times are seconds of session time. */
export class FrameHold {
  /** The latest time that was reported as reached. */
  #passedS = Number.NEGATIVE_INFINITY;
  /** How late the newest frame came: how far the audio was ahead of it. The next frame may be as late. */
  #lateS = 0;
  /** When a frame was last shown or repeated. */
  #shownS: number;
  readonly #rhythm: FrameRhythm;
  #isHeld = false;

  /**
   * @param firstS the time at which the first frame is shown
   * @param framesPerSecond the expected frame rate
   */
  constructor(firstS: number, framesPerSecond: number) {
    this.#shownS = firstS;
    this.#rhythm = new FrameRhythm(framesPerSecond);
  }

  /** The interval at which the last frame is repeated, in seconds: about that of the source's own frames, and at most 2 s. */
  get stepS(): number {
    return this.#rhythm.stepS;
  }

  /**
   * Notes a frame.
   * @returns the times at which the previous frame is to be repeated until then, if it is already held
   */
  sawFrame(dtsS: number, ptsS: number): readonly number[] {
    // No repetition comes just before the frame, because that would exceed the source's frame rate.
    const times = this.#isHeld ? this.#holdUntil(dtsS - this.#rhythm.stepS / 2) : NONE;
    this.#rhythm.saw(dtsS);
    this.#isHeld = false;
    this.#lateS = Math.max(0, this.#passedS - dtsS);
    this.#shownS = Math.max(ptsS, this.#shownS);
    return times;
  }

  /**
   * Notes that time has reached this point: audio of this time came or, for a source without audio, the clock says so.
   * @returns the times at which the last frame is to be repeated; no frame is expected any more for any of these times
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

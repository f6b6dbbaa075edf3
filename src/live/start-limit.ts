/**
 * Limits how often media may restart within a session, after a jump of its timestamps or when a publisher came back. Each start begins
 * a segment in every rendition, and most are a discontinuity for viewers. Pure: the time is passed in.
 */

/** The number of starts allowed at once. */
const BURST = 5;
/** The number of further starts allowed per second. */
const STARTS_PER_S = 1;
/** How long starts may be refused, without a calm time in between, before the publisher is disconnected. */
const STORM_TIMEOUT_S = 30;

/** The limit of one session. The session is calm again when all of {@link BURST} is available, which needs some time without starts. */
export class StartLimit {
  #left = BURST;
  #atS = Number.NEGATIVE_INFINITY;
  /** The time of the first refused start since the last calm time, in seconds. */
  #stormS: number | undefined;

  /**
   * Requests one start.
   * @param nowS monotonic time in seconds
   * @returns `wait` when media that could start now must be dropped; `give_up` when that has lasted too long
   */
  next(nowS: number): 'start' | 'wait' | 'give_up' {
    this.#left = Math.min(BURST, this.#left + Math.max(0, nowS - this.#atS) * STARTS_PER_S);
    this.#atS = nowS;
    if (this.#left === BURST) this.#stormS = undefined;
    if (this.#stormS !== undefined && nowS - this.#stormS > STORM_TIMEOUT_S) return 'give_up';
    if (this.#left >= 1) {
      this.#left -= 1;
      return 'start';
    }
    this.#stormS ??= nowS;
    return 'wait';
  }
}

/**
 * Limits how often media may start again within a session: behind a jump of its timestamps, or with a publisher that came back. Each start
 * costs viewers a discontinuity and this process a segment of every rendition. Pure: time comes in with the calls.
 */

/** Starts that may follow one another at once. */
const BURST = 5;
/** After these, one more start is allowed each second. */
const STARTS_PER_S = 1;
/** A publisher that was made to wait, and has not been calm for long enough since then, is given up after this. */
const PATIENCE_S = 30;

/** The limit of one session. It is calm again when no start was asked for during {@link BURST} seconds. */
export class StartLimit {
  #left = BURST;
  #atS = Number.NEGATIVE_INFINITY;
  /** When a start was refused first, since it was calm last. */
  #stormS: number | undefined;

  /**
   * Asks for one start.
   * @param nowS monotonic time in seconds
   * @returns `wait` when what could start now must be dropped; `give_up` when that has gone on for too long
   */
  next(nowS: number): 'start' | 'wait' | 'give_up' {
    this.#left = Math.min(BURST, this.#left + Math.max(0, nowS - this.#atS) * STARTS_PER_S);
    this.#atS = nowS;
    if (this.#left === BURST) this.#stormS = undefined;
    if (this.#stormS !== undefined && nowS - this.#stormS > PATIENCE_S) return 'give_up';
    if (this.#left >= 1) {
      this.#left -= 1;
      return 'start';
    }
    this.#stormS ??= nowS;
    return 'wait';
  }
}

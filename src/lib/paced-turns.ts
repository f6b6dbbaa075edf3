/**
 * Limits the share of this process's time that a kind of work may take, however much of it is requested.
 */
import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * Runs one piece of work at a time. After each piece it pauses in proportion to the time that the piece took. Holders take turns, so that
 * one with much work waits the longest. It has no limit of its own: its owner must bound the number of pieces that wait.
 */
export class PacedTurns {
  readonly #pausePerTime: number;
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  #isTaken = false;

  /** @param share the largest share of the time that the work may take, above 0 and at most 1 */
  constructor({ share, clock }: { readonly share: number; readonly clock: Clock }) {
    this.#pausePerTime = 1 / share - 1;
    this.#clock = clock;
  }

  /**
   * Waits for a turn of the holder, and then runs a piece of work.
   * @param work what takes a few milliseconds. Its errors reject the returned promise
   */
  async run<Result>(holder: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.add(holder, resolve));
    this.#isTaken = true;
    const beganAt = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      setTimeout(() => this.#next(), this.#pausePerTime * (this.#clock.monotonic() - beganAt));
    }
  }

  #next(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}

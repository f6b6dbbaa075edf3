/**
 * Limits the share of this process's time that a kind of work may take, however much of it is requested.
 */
import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * The longest pause. A piece that waited for a slow database, or a process that was stopped meanwhile, must not keep others waiting for a
 * multiple of that time.
 */
const MAX_PAUSE_MS = 50;

/**
 * Runs one piece of work at a time. After each piece it pauses in proportion to the time that the piece took, which may include the time
 * that it waited. Users take turns, so that the one with the most work waits the longest. It has no limit of its own: its owner must bound
 * the number of pieces that wait.
 */
export class PacedTurns {
  readonly #pausePerTime: number;
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  #isTaken = false;

  /** @param share the largest share of the time that the work may take, above 0 and at most 1. Long pieces take more, see {@link MAX_PAUSE_MS} */
  constructor({ share, clock }: { readonly share: number; readonly clock: Clock }) {
    this.#pausePerTime = 1 / share - 1;
    this.#clock = clock;
  }

  /**
   * Waits for a turn of the user, and then runs a piece of work.
   * @param work a piece of work that takes the event loop for a few milliseconds. When it fails, the returned promise rejects with its error
   */
  async run<Result>(userId: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.add(userId, resolve));
    this.#isTaken = true;
    const beganAt = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      const pauseMs = Math.min(MAX_PAUSE_MS, this.#pausePerTime * (this.#clock.monotonic() - beganAt));
      setTimeout(() => this.#next(), pauseMs).unref();
    }
  }

  #next(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}

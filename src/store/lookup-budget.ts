/**
 * Limits lookups of stream keys and playback ids, which anybody can invent. A flood of them waits in a queue of its own, and does not delay
 * other reads in the queue of the database.
 */
import { storeUnavailable } from './unavailable.ts';

/** How many lookups run at one time. PostgreSQL has twice as many connections for reads, so that the others stay free. */
const MAX_RUNNING = 4;
/** How many lookups may wait. Even a slow database answers a thousand in a second, so the last one waits a quarter of a second. */
const MAX_WAITING = 256;

/** Runs lookups within the budget of one store, in the order in which they came. */
export class LookupBudget {
  readonly #timeoutMs: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** @param timeoutMs how long a lookup may wait before it begins */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Runs a lookup as soon as its turn comes. @throws {MillraceError} `store_unavailable` when too many wait, or this one waits too long */
  async run<Found>(look: () => Promise<Found>): Promise<Found> {
    // A lookup whose turn comes takes over the place of the one that ended, so that no other can get in between.
    if (this.#running >= MAX_RUNNING) await this.#turn();
    else this.#running += 1;
    try {
      return await look();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(storeUnavailable('too many lookups are waiting'));
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        this.#waiting.delete(begin);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(begin);
        reject(storeUnavailable('the lookups before it take too long'));
      }, this.#timeoutMs);
      this.#waiting.add(begin);
    });
  }
}

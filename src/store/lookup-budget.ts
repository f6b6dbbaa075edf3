/**
 * Limits lookups of stream keys and playback ids, which anybody can invent. A flood of them waits in a queue of its own, and does not delay
 * other reads in the queue of the database.
 */
import { storeUnavailable } from './unavailable.ts';

/** How many look-ups run at one time: half as many as there are connections for reads, so that the others stay free. */
const RUNNING = 4;
/** How many look-ups may wait. Even a slow database answers a thousand in a second, so the last one waits a quarter of a second. */
const WAITING = 256;

/** Runs look-ups within the budget of one store, in the order in which they came. */
export class LookupBudget {
  readonly #timeoutMs: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** @param timeoutMs how long a look-up may wait before it begins */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Runs a look-up as soon as its turn comes. @throws {MillraceError} `store_unavailable` when too many wait, or this one waits too long */
  async run<Found>(look: () => Promise<Found>): Promise<Found> {
    // A look-up whose turn comes takes over the place of the one that ended, so that no other can get in between.
    if (this.#running >= RUNNING) await this.#turn();
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
    if (this.#waiting.size >= WAITING) return Promise.reject(storeUnavailable('too many look-ups are waiting'));
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        this.#waiting.delete(begin);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(begin);
        reject(storeUnavailable('the look-ups before it take too long'));
      }, this.#timeoutMs);
      this.#waiting.add(begin);
    });
  }
}

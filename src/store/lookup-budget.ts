/**
 * How many look-ups for strangers may be under way: of stream keys and playback ids that may not exist. A flood of them waits here, and
 * not in the queue of the database, where everybody else's reads would wait behind it.
 */
import { storeUnavailable } from './unavailable.ts';

/** Look-ups at one time: half of the connections that read, so that the others are free. */
const RUNNING = 4;
/** Look-ups that wait. With a thousand done in a second, which is slow, the last of them waits a quarter of a second. */
const WAITING = 256;

/** The budget of one store. */
export class LookupBudget {
  readonly #timeoutMs: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** @param timeoutMs how long a look-up may wait before it begins */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Looks up as soon as it may. @throws {MillraceError} `store_unavailable` when too many wait, or for too long */
  async run<Found>(look: () => Promise<Found>): Promise<Found> {
    // Whose turn comes takes the place of the one before, so that nobody gets in between.
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

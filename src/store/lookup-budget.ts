/**
 * Limits lookups of stream keys, playback ids and other names, which anybody can invent. A flood of them waits in a queue of its own, and does
 * not delay other reads in the queue of the database.
 */
import { FairTurns } from '#lib/fair-turns.ts';
import { storeUnavailable } from './unavailable.ts';

/** How many lookups run at one time. PostgreSQL has twice as many connections for reads, so that the others stay free. */
const MAX_RUNNING = 4;
/** How many lookups may wait. Even a slow database answers a thousand in a second, so the last one waits a quarter of a second. */
const MAX_WAITING = 256;
/** The network of lookups that no stranger causes. They are lookups for callers with an API key, and those of the server itself. */
const NO_STRANGER = 'no stranger';

/** Runs lookups within the budget of one store. Networks take turns, and share the places for lookups that wait. */
export class LookupBudget {
  readonly #turns: FairTurns;

  /** @param longestWaitMs how long a lookup may wait before it begins */
  constructor(longestWaitMs: number) {
    this.#turns = new FairTurns({
      atOnce: MAX_RUNNING,
      waiting: MAX_WAITING,
      longestWaitMs,
      refusal: () => storeUnavailable('too many lookups are waiting, or the lookups before it take too long'),
    });
  }

  /**
   * Runs a lookup as soon as its turn comes.
   * @param address the address that caused it; undefined when no stranger did
   * @throws {MillraceError} `store_unavailable` when too many wait, or this one waits too long
   */
  run<Found>(address: string | undefined, look: () => Promise<Found>): Promise<Found> {
    return this.#turns.run(address ?? NO_STRANGER, look);
  }
}

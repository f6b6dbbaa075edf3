/**
 * Limits how many indexes of recordings are fetched and parsed at the same time.
 */
import type { MediaPath } from '#domain/ids.ts';
import { FairTurns } from '#lib/fair-turns.ts';

/** The most requests that wait for a turn, and for how long. Further ones are refused. */
const MAX_WAITING = 200;
const LONGEST_WAIT_MS = 15_000;

/** Gives turns to work with indexes, so that no network of viewers holds up the others. */
export class IndexTurns {
  readonly #turns: FairTurns;
  /** Recordings whose indexes are being fetched and parsed. */
  readonly #reading = new Map<MediaPath, Promise<void>>();

  /** @param atOnce how many have a turn at the same time @param refusal makes the error for work that gets no turn */
  constructor(atOnce: number, refusal: () => Error) {
    this.#turns = new FairTurns({ atOnce, waiting: MAX_WAITING, longestWaitMs: LONGEST_WAIT_MS, refusal });
  }

  /** Waits for a turn, and then runs `work`. */
  async run<Answer>(address: string, work: () => Promise<Answer>): Promise<Answer> {
    return await this.#turns.run(address, work);
  }

  /** Waits for a turn, and then runs `work`. Work with the same recording is done one after another. */
  async runOne<Answer>(path: MediaPath, address: string, work: () => Promise<Answer>): Promise<Answer> {
    return await this.#turns.run(address, async () => {
      for (let other = this.#reading.get(path); other !== undefined; other = this.#reading.get(path)) await other;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#reading.set(path, promise);
      try {
        return await work();
      } finally {
        this.#reading.delete(path);
        resolve();
      }
    });
  }
}

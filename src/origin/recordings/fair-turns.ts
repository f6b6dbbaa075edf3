/**
 * Work that takes a worker's time, a few pieces at once. Networks take turns, so that one that asks for much waits the longest.
 */
import { MillraceError } from '#domain/errors.ts';
import { FairQueue } from '#lib/fair-queue.ts';
import { networkOf } from '#lib/network-of.ts';

/** The number of requests that may wait. */
const MAX_WAITING = 200;
/** The number of requests of one network that may wait. */
const MAX_OF_NETWORK = 20;

/** Limits how much of the same work is done at once. */
export class FairTurns {
  readonly #atOnce: number;
  readonly #queue = new FairQueue<() => void>();
  readonly #waiting = new Map<string, number>();
  #running = 0;

  /** @param atOnce the number of pieces of work that are done at once */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /**
   * Does work when it is its turn.
   * @param address of the viewer
   * @param signal ends the wait
   * @throws {MillraceError} `too_many_viewers` when too many wait; the errors of `work`; the signal's reason
   */
  async run<Result>(address: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnce) await this.#turn(networkOf(address));
    else this.#running += 1;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = this.#queue.take();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** Waits for a turn, which the one who ends hands over. A request whose viewer has left keeps its place and ends there at once. */
  async #turn(network: string): Promise<void> {
    const ofNetwork = this.#waiting.get(network) ?? 0;
    if (this.#queue.size >= MAX_WAITING || ofNetwork >= MAX_OF_NETWORK) {
      throw new MillraceError(
        'too_many_viewers',
        'Too many requests wait for this server to prepare files; try again soon.',
        {
          retryAfterS: 1,
        },
      );
    }
    this.#waiting.set(network, ofNetwork + 1);
    const turn = Promise.withResolvers<void>();
    this.#queue.add(network, turn.resolve);
    await turn.promise;
    const left = this.#waiting.get(network)! - 1;
    if (left === 0) this.#waiting.delete(network);
    else this.#waiting.set(network, left);
  }
}

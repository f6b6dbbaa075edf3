/**
 * Limits how many expensive requests are worked on at once. Networks take turns, so that a network with many requests waits the longest.
 */
import { MillraceError } from '#domain/errors.ts';
import { FairQueue } from '#lib/fair-queue.ts';
import { networkOf } from '#lib/network-of.ts';

/** The most requests that may wait. Further ones are refused. */
const MAX_WAITING = 200;
/** The most requests of one network that may wait. */
const MAX_OF_NETWORK = 20;

/** Limits how many requests for the same kind of work are worked on at once. */
export class FairTurns {
  readonly #atOnce: number;
  readonly #queue = new FairQueue<() => void>();
  readonly #waiting = new Map<string, number>();
  #running = 0;

  /** @param atOnce the number of requests that are worked on at once */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /**
   * Waits for a turn, and then runs `work`.
   * @param address the IP address of the viewer
   * @param signal when it has aborted by the time of the turn, `work` is not run
   * @throws {MillraceError} `too_many_viewers` when too many requests wait; the errors of `work`; the signal's reason
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

  /** Waits for a turn, which the request that ends hands over. A request whose viewer has left keeps its place, and ends at its turn. */
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

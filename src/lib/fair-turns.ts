/**
 * Limits how much expensive work is done at the same time. Networks take turns, so that the network with the most work waits longest.
 */
import { FairQueue } from './fair-queue.ts';
import { FairSlots } from './fair-slots.ts';
import { networkOf } from './network-of.ts';

/** The options of {@link FairTurns}. */
export interface FairTurnsOptions {
  /** How many pieces of work are done at the same time. */
  readonly atOnce: number;
  /** How many pieces of work may wait. When one more comes, the network with the most gives up its oldest place; see {@link FairSlots}. */
  readonly waiting: number;
  /** How many pieces of work of one host may wait. When this is left out, a host has no limit of its own. */
  readonly waitingOfHost?: number;
  /** The longest time that work may wait, in milliseconds. Without limit when it is left out. */
  readonly longestWaitMs?: number;
  /** Makes the error for work that gets no turn. */
  readonly refusal: () => Error;
}

/** Work that waits for its turn. */
interface Waiting {
  readonly network: string;
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** Limits how much work of one kind is done at the same time. */
export class FairTurns {
  readonly #options: FairTurnsOptions;
  readonly #queue = new FairQueue<Waiting>();
  readonly #places: FairSlots<Waiting>;
  #running = 0;

  constructor(options: FairTurnsOptions) {
    this.#options = options;
    this.#places = new FairSlots(options.waiting);
  }

  /**
   * Waits for a turn, and then runs `work`.
   * @param address the address that the work is done for, or another text that stands for a network of its own
   * @param signal when it has aborted by the time of the turn, `work` is not run
   * @throws the refusal when too much work waits, or this work waits too long; the errors of `work`; the signal's reason
   */
  async run<Result>(address: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    // Work whose turn comes takes over the place of the work that ended, so that no other can get in between.
    if (this.#running >= this.#options.atOnce) await this.#turn(address);
    else this.#running += 1;
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      const next = this.#queue.take();
      if (next === undefined) this.#running -= 1;
      else next.begin();
    }
  }

  /** Waits for a turn. Work whose signal has aborted keeps its place until its turn, and ends then. */
  async #turn(address: string): Promise<void> {
    const { waitingOfHost, longestWaitMs, refusal } = this.#options;
    if (waitingOfHost !== undefined && this.#places.ofHost(address) >= waitingOfHost) throw refusal();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const network = networkOf(address);
    const waiting: Waiting = {
      network,
      begin: resolve,
      refuse: () => {
        this.#queue.remove(network, waiting);
        reject(refusal());
      },
    };
    const admission = this.#places.enter(waiting, address);
    if (!admission.admitted) throw refusal();
    admission.evicted?.refuse();
    this.#queue.add(network, waiting);
    const overdue = longestWaitMs === undefined ? undefined : setTimeout(waiting.refuse, longestWaitMs);
    try {
      await promise;
    } finally {
      clearTimeout(overdue);
      this.#places.leave(waiting);
    }
  }
}

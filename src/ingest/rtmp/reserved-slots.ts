/**
 * A limited number of places, a part of which strangers cannot take.
 */
import { FairSlots, type SlotDecision } from '#lib/fair-slots.ts';

/** One place in this many is reserved. */
const RESERVED_SHARE = 4;

/**
 * Places shared fairly among networks, with a quarter of them reserved for known hosts: however many networks strangers come from, known
 * hosts compete only with each other for that quarter. They may have any of the other places, too.
 */
export class ReservedSlots<Holder> {
  readonly #open: FairSlots<Holder>;
  readonly #reserved: FairSlots<Holder> | undefined;
  readonly #openLimit: number;

  /** @param limit how many places there are in all, at least 1; with fewer than four none is reserved */
  constructor(limit: number) {
    const reserved = Math.floor(limit / RESERVED_SHARE);
    this.#openLimit = limit - reserved;
    this.#open = new FairSlots(this.#openLimit);
    this.#reserved = reserved > 0 ? new FairSlots(reserved) : undefined;
  }

  /** Whether a place that is not reserved is free. */
  get hasFree(): boolean {
    return this.#open.size < this.#openLimit;
  }

  /** The holder that has had one of the places that are not reserved for the longest time. */
  get oldestStranger(): Holder | undefined {
    return this.#open.holders()[Symbol.iterator]().next().value;
  }

  /** Takes a place, as {@link FairSlots.enter} does. */
  enter(holder: Holder, address: string, isKnown: boolean): SlotDecision<Holder> {
    if (isKnown && !this.hasFree) {
      const admission = this.#reserved?.enter(holder, address);
      if (admission?.admitted) return admission;
    }
    return this.#open.enter(holder, address);
  }

  /** Gives the place back. Does nothing when the holder has none. */
  leave(holder: Holder): void {
    this.#open.leave(holder);
    this.#reserved?.leave(holder);
  }
}

/**
 * A limited number of places, of which strangers cannot take all.
 */
import { type Admission, FairSlots } from '#lib/fair-slots.ts';

/** One place of so many is reserved. */
const RESERVED_SHARE = 4;

/**
 * Places shared fairly among networks, a quarter of them reserved for hosts that are known: however many networks strangers come from,
 * known hosts compete for that quarter with each other only. They may have any of the other places, too.
 */
export class ReservedSlots<Holder> {
  readonly #open: FairSlots<Holder>;
  readonly #reserved: FairSlots<Holder> | undefined;
  readonly #openLimit: number;

  /** @param limit places in all, at least 1; of fewer than four none is reserved */
  constructor(limit: number) {
    const reserved = Math.floor(limit / RESERVED_SHARE);
    this.#openLimit = limit - reserved;
    this.#open = new FairSlots(this.#openLimit);
    this.#reserved = reserved > 0 ? new FairSlots(reserved) : undefined;
  }

  /** Whether a place is free for anybody. */
  get hasFree(): boolean {
    return this.#open.size < this.#openLimit;
  }

  /** Who took one of the places that are for anybody longest ago. */
  get oldestStranger(): Holder | undefined {
    return this.#open.holders()[Symbol.iterator]().next().value;
  }

  /** Takes a place; see {@link FairSlots.enter}. */
  enter(holder: Holder, address: string, isKnown: boolean): Admission<Holder> {
    if (isKnown && !this.hasFree) {
      const admission = this.#reserved?.enter(holder, address);
      if (admission?.admitted) return admission;
    }
    return this.#open.enter(holder, address);
  }

  /** Gives the place back; does nothing when the holder has none. */
  leave(holder: Holder): void {
    this.#open.leave(holder);
    this.#reserved?.leave(holder);
  }
}

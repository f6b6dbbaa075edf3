/**
 * Limits the number of requests in progress, and lets users take turns, so that the receivers of one user never delay those of another.
 */
import type { UserId } from '#domain/ids.ts';

/** The number of requests that may be in progress. */
export interface SlotLimits {
  readonly total: number;
  readonly perUser: number;
}

/** The slots of one process. The callers limit how many wait. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #taken = new Map<UserId, number>();
  /** The waiting callers, by user. The user whose turn is next comes first. */
  readonly #waiting = new Map<UserId, (() => void)[]>();
  #total = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** The number of requests in progress. */
  get taken(): number {
    return this.#total;
  }

  /** Waits for a slot. Dispose it to release it. */
  async take(user: UserId): Promise<Disposable> {
    if (this.#total >= this.#limits.total || !this.#mayTake(user)) {
      await new Promise<void>((resolve) => {
        const waiting = this.#waiting.get(user);
        if (waiting === undefined) this.#waiting.set(user, [resolve]);
        else waiting.push(resolve);
      });
    } else {
      this.#take(user);
    }
    return { [Symbol.dispose]: () => this.#giveBack(user) };
  }

  #mayTake(user: UserId): boolean {
    return (this.#taken.get(user) ?? 0) < this.#limits.perUser;
  }

  #take(user: UserId): void {
    this.#total += 1;
    this.#taken.set(user, (this.#taken.get(user) ?? 0) + 1);
  }

  #giveBack(user: UserId): void {
    this.#total -= 1;
    const left = (this.#taken.get(user) ?? 1) - 1;
    if (left === 0) this.#taken.delete(user);
    else this.#taken.set(user, left);
    for (const [next, waiting] of this.#waiting) {
      if (this.#total >= this.#limits.total) return;
      if (!this.#mayTake(next)) continue;
      const resolve = waiting.shift();
      // The user's next turn comes after those of all others.
      this.#waiting.delete(next);
      if (waiting.length > 0) this.#waiting.set(next, waiting);
      if (resolve === undefined) continue;
      this.#take(next);
      resolve();
      return;
    }
  }
}

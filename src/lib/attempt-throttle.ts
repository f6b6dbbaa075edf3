/**
 * Slows down the guessing of secrets: limits how often each address may fail.
 */
import { BoundedMap } from './bounded-map.ts';
import type { Clock } from './clock.ts';
import { networkOf } from './network-of.ts';
import type { Soon } from './soon.ts';
import { MINUTE_MS } from './units.ts';

/** How many addresses are remembered. When there are more, the one with the oldest failure is forgotten. */
const MAX_ADDRESSES = 10_000;

/** The outcome of an attempt. */
interface Attempt<Found> {
  /** The seconds after which the address may try again, if its attempt was refused without a look at the secret; otherwise 0. */
  readonly waitS: number;
  /** What the secret stands for. Undefined when the attempt was refused, and when the secret is wrong. */
  readonly found: Found | undefined;
}

/**
 * Counts failed attempts by address, over HTTP and RTMP together. An address that has used up its allowance must wait until enough of it
 * has come back. Until then, the caller must refuse every attempt from it without checking the secret, because otherwise a guesser would find
 * out during the wait whether a guess is right.
 *
 * A whole /64 of IPv6 counts as one address.
 */
export class AttemptThrottle {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #buckets = new BoundedMap<string, { left: number; at: number }>(MAX_ADDRESSES);
  /** The attempts of each address that are being looked up. */
  readonly #underWay = new Map<string, { count: number; readonly ended: PromiseWithResolvers<void> }>();

  /** @param perMinute failed attempts that are allowed at once, and that come back each minute */
  constructor({ perMinute, clock }: { readonly perMinute: number; readonly clock: Clock }) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Seconds until this address may try again; 0 when it may now. */
  retryAfterS(address: string): number {
    if (this.#buckets.size === 0) return 0; // the common case costs nothing
    const left = this.#left(networkOf(address));
    return left >= 1 ? 0 : Math.ceil(((1 - left) * 60) / this.#perMinute);
  }

  /**
   * Looks a secret up, unless the address must wait. At any time, no more secrets of an address are being looked up than it may still fail
   * with. Further attempts wait until it is known whether those are right or wrong. When looking up fails, the attempts that wait fail as
   * well, because each would wait for the same failure in turn.
   * @param look finds what the secret stands for; undefined when it is wrong
   * @throws the errors of `look`, or of the lookup that was waited for. These do not count as failed attempts
   */
  async attempt<Found>(address: string, look: () => Soon<Found | undefined>): Promise<Attempt<Found>> {
    const key = networkOf(address);
    for (;;) {
      const underWay = this.#underWay.get(key);
      if (underWay === undefined || this.#left(key) >= underWay.count + 1) break;
      await underWay.ended.promise;
    }
    const waitS = this.retryAfterS(address);
    if (waitS > 0) return { waitS, found: undefined };
    const count = (this.#underWay.get(key)?.count ?? 0) + 1;
    this.#underWay.set(key, { count, ended: this.#underWay.get(key)?.ended ?? Promise.withResolvers<void>() });
    try {
      const found = await look();
      if (found === undefined) this.failed(address);
      this.#end(key).resolve();
      return { waitS: 0, found };
    } catch (error) {
      const { promise, reject } = this.#end(key);
      promise.catch(() => {}); // perhaps none waits
      reject(error);
      throw error;
    }
  }

  /** Ends an attempt of an address. @returns what the attempts that wait for it wait for */
  #end(key: string): PromiseWithResolvers<void> {
    const { count, ended } = this.#underWay.get(key)!;
    if (count === 1) this.#underWay.delete(key);
    else this.#underWay.set(key, { count: count - 1, ended: Promise.withResolvers<void>() });
    return ended;
  }

  /** Counts a failed attempt. */
  failed(address: string): void {
    const key = networkOf(address);
    const left = Math.max(0, this.#left(key) - 1);
    this.#buckets.set(key, { left, at: this.#clock.monotonic() });
  }

  #left(key: string): number {
    const bucket = this.#buckets.get(key);
    if (!bucket) return this.#perMinute;
    const returned = ((this.#clock.monotonic() - bucket.at) / MINUTE_MS) * this.#perMinute;
    if (bucket.left + returned < this.#perMinute) return bucket.left + returned;
    this.#buckets.delete(key);
    return this.#perMinute;
  }
}

/**
 * Slows down the guessing of secrets: limits how often each address may fail.
 */
import { BoundedMap } from './bounded-map.ts';
import type { Clock } from './clock.ts';
import { networkOf } from './network-of.ts';

/** How many addresses are remembered. When there are more, the one with the oldest failure is forgotten. */
const MAX_ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

/** What came of an attempt. */
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
   * Looks a secret up, unless the address must wait. Attempts at the same time look up no more secrets than the address may still fail with:
   * the others wait until these are known to be right or wrong. Their number is limited by that of the connections.
   * @param look finds what the secret stands for; undefined when it is wrong
   * @throws the errors of `look`, which do not count as failures
   */
  async attempt<Found>(address: string, look: () => Promise<Found | undefined>): Promise<Attempt<Found>> {
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
      return { waitS: 0, found };
    } finally {
      this.#end(key);
    }
  }

  /** Ends an attempt of an address, and lets those that wait for it look again. */
  #end(key: string): void {
    const { count, ended } = this.#underWay.get(key)!;
    if (count === 1) this.#underWay.delete(key);
    else this.#underWay.set(key, { count: count - 1, ended: Promise.withResolvers<void>() });
    ended.resolve();
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

/**
 * Slows down the guessing of secrets: limits how often each address may fail.
 */
import { BoundedMap } from './bounded-map.ts';
import type { Clock } from './clock.ts';
import { networkOf } from './network-of.ts';

/** How many addresses are remembered. When there are more, the one with the oldest failure is forgotten. */
const MAX_ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

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

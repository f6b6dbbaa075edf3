/**
 * Slows down guessing: each address may be wrong only so often.
 */
import type { Clock } from './clock.ts';
import { networkOf } from './network-of.ts';

/** Addresses remembered at most; beyond it the one that was wrong longest ago is forgotten. */
const MAX_ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

/**
 * Counts wrong attempts by address, one bucket for HTTP and RTMP together. An address that used up its allowance must wait until
 * enough of it has come back; judge no attempt of it before that, right or wrong, or the wait would not slow guessing.
 *
 * A whole /64 of IPv6 counts as one address.
 */
export class AttemptThrottle {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** @param perMinute wrong attempts that come back each minute; as many are allowed at once */
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

  /** Counts a wrong attempt. */
  failed(address: string): void {
    const key = networkOf(address);
    const left = Math.max(0, this.#left(key) - 1);
    this.#buckets.delete(key); // set again at the end: the map is ordered by the last failure
    if (this.#buckets.size >= MAX_ADDRESSES) {
      const oldest = this.#buckets.keys().next();
      if (!oldest.done) this.#buckets.delete(oldest.value);
    }
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

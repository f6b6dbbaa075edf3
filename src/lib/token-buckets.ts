/**
 * How often somebody may do something: an allowance for each that is used up one by one and comes back evenly.
 */
import type { Clock } from './clock.ts';

/** Whose allowance is remembered; beyond it the one first seen longest ago starts afresh. */
const MAX_BUCKETS = 10_000;
const MINUTE_S = 60;

/** One bucket, after something was taken from it or would have been. */
export interface Allowance {
  readonly allowed: boolean;
  /** How many more may follow at once. */
  readonly remaining: number;
  /** Whole seconds until all of it has come back. */
  readonly fullAfterS: number;
  /** Whole seconds until one more is allowed; 0 when it is now. */
  readonly retryAfterS: number;
}

/** A token bucket for each key. */
export class TokenBuckets {
  /** How many may come at once. */
  readonly limit: number;
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { left: number; atMs: number }>();

  /**
   * @param options.perMinute that come back, at least 1
   * @param options.atOnce at least 1; as many as come back in a minute by default
   */
  constructor({
    perMinute,
    atOnce = perMinute,
    clock,
  }: {
    readonly perMinute: number;
    readonly atOnce?: number;
    readonly clock: Clock;
  }) {
    this.limit = atOnce;
    this.#perSecond = perMinute / MINUTE_S;
    this.#clock = clock;
  }

  /** Takes one, if there is one left. A caller that has to wait loses nothing by asking meanwhile. */
  take(key: string): Allowance {
    const bucket = this.#bucket(key);
    const nowMs = this.#clock.monotonic();
    const left = Math.min(this.limit, bucket.left + ((nowMs - bucket.atMs) / 1000) * this.#perSecond);
    const allowed = left >= 1;
    bucket.left = allowed ? left - 1 : left;
    bucket.atMs = nowMs;
    return {
      allowed,
      remaining: Math.floor(bucket.left),
      fullAfterS: Math.ceil((this.limit - bucket.left) / this.#perSecond),
      retryAfterS: bucket.left >= 1 ? 0 : Math.ceil((1 - bucket.left) / this.#perSecond),
    };
  }

  #bucket(key: string): { left: number; atMs: number } {
    const known = this.#buckets.get(key);
    if (known) return known;
    if (this.#buckets.size >= MAX_BUCKETS) {
      const oldest = this.#buckets.keys().next();
      if (!oldest.done) this.#buckets.delete(oldest.value);
    }
    const bucket = { left: this.limit, atMs: this.#clock.monotonic() };
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

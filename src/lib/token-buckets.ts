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

/** How fast a bucket fills, and how much it holds. */
export interface BucketSize {
  /** That come back, at least 1. */
  readonly perMinute: number;
  /** That may come at once, at least 1; as many as come back in a minute by default. */
  readonly atOnce?: number;
}

/** A token bucket for each key, all of one size. */
export class TokenBuckets {
  /** How many may come at once. */
  readonly limit: number;
  readonly #size: BucketSize;
  readonly #buckets: QuotaBuckets;

  constructor({ clock, ...size }: BucketSize & { readonly clock: Clock }) {
    this.limit = size.atOnce ?? size.perMinute;
    this.#size = size;
    this.#buckets = new QuotaBuckets(clock);
  }

  /** Takes one, if there is one left. A caller that has to wait loses nothing by asking meanwhile. */
  take(key: string): Allowance {
    return this.#buckets.take(key, this.#size);
  }
}

/** A token bucket for each key, whose size is said each time: it may be another for each key, and change. */
export class QuotaBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { left: number; atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one, if there is one left. A caller that has to wait loses nothing by asking meanwhile. */
  take(key: string, { perMinute, atOnce = perMinute }: BucketSize): Allowance {
    const perSecond = perMinute / MINUTE_S;
    const bucket = this.#bucket(key, atOnce);
    const nowMs = this.#clock.monotonic();
    const left = Math.min(atOnce, bucket.left + ((nowMs - bucket.atMs) / 1000) * perSecond);
    const allowed = left >= 1;
    bucket.left = allowed ? left - 1 : left;
    bucket.atMs = nowMs;
    return {
      allowed,
      remaining: Math.floor(bucket.left),
      fullAfterS: Math.ceil((atOnce - bucket.left) / perSecond),
      retryAfterS: bucket.left >= 1 ? 0 : Math.ceil((1 - bucket.left) / perSecond),
    };
  }

  #bucket(key: string, atOnce: number): { left: number; atMs: number } {
    const known = this.#buckets.get(key);
    if (known) return known;
    if (this.#buckets.size >= MAX_BUCKETS) {
      const oldest = this.#buckets.keys().next();
      if (!oldest.done) this.#buckets.delete(oldest.value);
    }
    const bucket = { left: atOnce, atMs: this.#clock.monotonic() };
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

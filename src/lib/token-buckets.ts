/**
 * Limits how often each caller may do something: its allowance is used up one by one and comes back evenly.
 */
import { BoundedMap } from './bounded-map.ts';
import type { Clock } from './clock.ts';

/** The most allowances that are remembered. With more, the one that was first used longest ago is forgotten, and so is full again. */
const MAX_BUCKETS = 10_000;
const MINUTE_S = 60;

/** The state of a bucket after an attempt to take from it. */
export interface BucketLevel {
  readonly allowed: boolean;
  /** How many more are allowed at once. */
  readonly remaining: number;
  /** Whole seconds until all of it has come back. */
  readonly fullAfterS: number;
  /** Whole seconds until one more is allowed; 0 when it is allowed now. */
  readonly retryAfterS: number;
}

/** How fast a bucket fills, and how much it holds. */
export interface BucketSize {
  /** How many come back in a minute, at least 1. */
  readonly perMinute: number;
  /** How many are allowed at once, at least 1. By default, as many as come back in a minute. */
  readonly atOnce?: number;
}

/** A token bucket for each key, all of one size. */
export class TokenBuckets {
  /** How many are allowed at once. */
  readonly limit: number;
  readonly #size: BucketSize;
  readonly #buckets: QuotaBuckets;

  constructor({ clock, ...size }: BucketSize & { readonly clock: Clock }) {
    this.limit = size.atOnce ?? size.perMinute;
    this.#size = size;
    this.#buckets = new QuotaBuckets(clock);
  }

  /** Takes one, if there is one left. An attempt that is refused costs nothing. */
  take(key: string): BucketLevel {
    return this.#buckets.take(key, this.#size);
  }

  /** See {@link QuotaBuckets.spend}. */
  spend(key: string, count: number): BucketLevel {
    return this.#buckets.spend(key, count, this.#size);
  }
}

/** A token bucket for each key. Its size is given at each use, so that it can differ from key to key and change. */
export class QuotaBuckets {
  readonly #clock: Clock;
  readonly #buckets = new BoundedMap<string, { left: number; atMs: number }>(MAX_BUCKETS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one, if there is one left. An attempt that is refused costs nothing. */
  take(key: string, size: BucketSize): BucketLevel {
    const bucket = this.#refilled(key, size);
    const allowed = bucket.left >= 1;
    if (allowed) bucket.left -= 1;
    return levelOf(bucket.left, allowed, size);
  }

  /** Takes `count` tokens even if fewer are left. Those that are missing are taken from the tokens that come back later. */
  spend(key: string, count: number, size: BucketSize): BucketLevel {
    const bucket = this.#refilled(key, size);
    bucket.left -= count;
    return levelOf(bucket.left, true, size);
  }

  /** Gives back tokens that were taken and not used. */
  giveBack(key: string, count = 1): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.left += count; // may exceed the size of the bucket until the next `take`, which limits it
  }

  /** Returns the bucket, with the tokens that have come back until now. */
  #refilled(key: string, { perMinute, atOnce = perMinute }: BucketSize): { left: number; atMs: number } {
    const nowMs = this.#clock.monotonic();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { left: atOnce, atMs: nowMs };
      this.#buckets.set(key, bucket);
    }
    bucket.left = Math.min(atOnce, bucket.left + ((nowMs - bucket.atMs) / 1000) * (perMinute / MINUTE_S));
    bucket.atMs = nowMs;
    return bucket;
  }
}

function levelOf(left: number, allowed: boolean, { perMinute, atOnce = perMinute }: BucketSize): BucketLevel {
  const perSecond = perMinute / MINUTE_S;
  return {
    allowed,
    remaining: Math.max(0, Math.floor(left)),
    fullAfterS: Math.ceil((atOnce - left) / perSecond),
    retryAfterS: left >= 1 ? 0 : Math.ceil((1 - left) / perSecond),
  };
}

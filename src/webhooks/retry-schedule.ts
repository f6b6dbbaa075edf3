/**
 * Decides what happens to a delivery after an attempt.
 */

/** How soon a delivery is retried, and for how long. */
export interface RetryLimits {
  /** The pause after the first failure. It doubles with each further one. */
  readonly firstMs: number;
  /** The longest pause that the server chooses. */
  readonly maxMs: number;
  /** How long after its creation a delivery is given up. */
  readonly giveUpAfterMs: number;
}

/** The limits of all deliveries. */
export const RETRY_LIMITS: RetryLimits = { firstMs: 5000, maxMs: 3_600_000, giveUpAfterMs: 3 * 24 * 3_600_000 };

/** The longest `Retry-After` that is respected. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** What is known after an attempt. */
export interface AttemptFacts {
  /** Undefined when there was no answer. */
  readonly statusCode: number | undefined;
  /** The pause that the receiver requested by `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** The number of attempts before this one. */
  readonly attempts: number;
  /** The age of the delivery. */
  readonly ageMs: number;
}

/** What happens to the delivery. With `gone`, its webhook must be disabled as well. */
export type NextStep =
  | { readonly type: 'delivered' }
  | { readonly type: 'retry'; readonly delayMs: number }
  | { readonly type: 'dead' }
  | { readonly type: 'gone' };

/**
 * Decides what happens after an attempt. The pause is half fixed and half random, so that deliveries which failed together are not retried
 * together. A receiver may request a longer pause, but not a shorter one.
 * @param random from 0 to 1, 1 excluded
 */
export function nextStep(facts: AttemptFacts, random: number, limits: RetryLimits = RETRY_LIMITS): NextStep {
  const { statusCode, retryAfterMs = 0, attempts, ageMs } = facts;
  if (statusCode !== undefined && statusCode >= 200 && statusCode < 300) return { type: 'delivered' };
  if (statusCode === 410) return { type: 'gone' };
  const longest = Math.min(limits.maxMs, limits.firstMs * 2 ** Math.min(attempts, 30));
  const own = Math.round(longest / 2 + (longest / 2) * random);
  const delayMs = Math.max(own, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
  return ageMs + delayMs > limits.giveUpAfterMs ? { type: 'dead' } : { type: 'retry', delayMs };
}

/** Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds or a date. @returns milliseconds; undefined for anything else */
export function retryAfterOf(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

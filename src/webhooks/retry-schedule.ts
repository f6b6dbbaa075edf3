/**
 * Decides what becomes of a delivery after an attempt.
 */

/** How soon a delivery is tried again, and for how long. */
export interface RetryLimits {
  /** The pause after the first failure; it doubles with each one. */
  readonly firstMs: number;
  /** The longest pause that the server chooses. */
  readonly maxMs: number;
  /** How long after a delivery was made it is given up. */
  readonly giveUpAfterMs: number;
}

/** The limits that deliveries have. */
export const RETRY_LIMITS: RetryLimits = { firstMs: 5000, maxMs: 3_600_000, giveUpAfterMs: 3 * 24 * 3_600_000 };

/** The longest `Retry-After` that is obeyed. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** What is known after an attempt. */
export interface AttemptFacts {
  /** Undefined when there was no answer. */
  readonly statusCode: number | undefined;
  /** What the receiver asked for in `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** Attempts before this one. */
  readonly attempts: number;
  /** How long ago the delivery was made. */
  readonly ageMs: number;
}

/** What becomes of the delivery; `gone`: its webhook must be disabled as well. */
export type NextStep =
  | { readonly type: 'delivered' }
  | { readonly type: 'retry'; readonly delayMs: number }
  | { readonly type: 'dead' }
  | { readonly type: 'gone' };

/**
 * The pause is half fixed and half random, so that deliveries which failed together do not come back together. A receiver may ask for a
 * longer pause, never for a shorter one.
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

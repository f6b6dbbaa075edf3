/**
 * The errors that every engine gives when its database is away, and when nobody can know whether a write happened.
 */
import { MillraceError } from '#domain/errors.ts';

/** Makes the error of a call that has not happened and will not. The reason, in the system's words, is only its cause. */
export function storeUnavailable(reason: string): MillraceError {
  const sentence = 'The store cannot be reached at the moment; try again in a second.';
  return new MillraceError('store_unavailable', sentence, { cause: new Error(reason), retryAfterS: 1 });
}

/** Makes the error of a write that may have happened, or may still happen later. */
export function outcomeUnknown(reason: string): MillraceError {
  const sentence =
    'The store did not answer whether this was done; check that before you ask again, or repeat the request with its Idempotency-Key.';
  return new MillraceError('outcome_unknown', sentence, { cause: new Error(reason), retryAfterS: 1 });
}

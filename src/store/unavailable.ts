/**
 * What every engine says when its database is away, and when nobody can tell whether it did what it was asked.
 */
import { MillraceError } from '#domain/errors.ts';

/** Nothing has happened, and nothing will. The reason, in the system's words, is only the cause of what a caller sees. */
export function storeUnavailable(reason: string): MillraceError {
  const sentence = 'The store cannot be reached at the moment; try again in a second.';
  return new MillraceError('store_unavailable', sentence, { cause: new Error(reason), retryAfterS: 1 });
}

/** The write may have happened, or may yet happen. */
export function outcomeUnknown(reason: string): MillraceError {
  const sentence =
    'The store did not say whether this was done; look whether it was before you ask again, or repeat the request with its Idempotency-Key.';
  return new MillraceError('outcome_unknown', sentence, { cause: new Error(reason), retryAfterS: 1 });
}

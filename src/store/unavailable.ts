/**
 * The errors of all engines for a database that cannot be reached, and for a write with an unknown outcome.
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
    'It is unknown whether this was done, because the store did not answer; check before you send the request again, or repeat it with the same Idempotency-Key.';
  return new MillraceError('outcome_unknown', sentence, { cause: new Error(reason), retryAfterS: 1 });
}

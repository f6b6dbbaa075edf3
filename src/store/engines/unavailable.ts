/**
 * What every engine says when its database is away.
 */
import { MillraceError } from '#domain/errors.ts';

/** The error a caller sees; the reason, in the system's words, is only its cause. */
export function storeUnavailable(reason: string): MillraceError {
  const sentence = 'The store cannot be reached at the moment; try again in a second.';
  return new MillraceError('store_unavailable', sentence, { cause: new Error(reason), retryAfterS: 1 });
}

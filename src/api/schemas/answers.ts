/**
 * What an operation may answer with.
 */
import { type TSchema, Type } from 'typebox';
import { ErrorSchema } from './error.ts';
import { ref } from './ref.ts';

/** Of an answer without a body: 204. */
export const NOTHING = Type.Null({ description: 'Done.' });

/**
 * The answers an operation may give, by status: its own and errors. Those that every operation with an API key may give need not be
 * named, see `describe-answers.ts`.
 */
export function answers<Schema extends TSchema>(success: number, schema: Schema, ...errors: readonly ErrorStatus[]) {
  return { [success]: schema, ...failures(errors) };
}

/** A status that {@link answers} knows. */
export type ErrorStatus = keyof typeof REASONS;

/** What errors of these statuses are, by status. */
export function failures(errors: readonly ErrorStatus[]): Record<string, object> {
  return Object.fromEntries(errors.map((status) => [status, { ...ref(ErrorSchema), description: REASONS[status] }]));
}

const REASONS = {
  400: 'Malformed: the JSON, the cursor, the query or a header.',
  401: 'No API key, or one that is unknown or revoked.',
  403: "The API key's rules do not allow it, its user is suspended, or only admins may.",
  404: "Unknown, or somebody else's.",
  409: 'It contradicts what is there already.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The body breaks a rule; the sentence names the field.',
  429: 'Too many requests of this API key, or too many wrong API keys from this address; wait as long as Retry-After says.',
  501: 'The reference service has it, Millrace not yet.',
  503: 'The store is away; try again after Retry-After.',
  504: 'It is not known whether this was done; repeat it with the same Idempotency-Key, or check before trying again.',
} as const;

/**
 * What an operation may answer with.
 */
import type { TSchema } from 'typebox';
import { Type } from '#lib/schema.ts';
import { ErrorSchema } from './error.ts';
import { ref } from './ref.ts';

/** Of an answer without a body: 204. */
export const NOTHING = Type.Null({ description: 'The change was made.' });

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
  400: 'The JSON, the cursor, the query or a header is malformed.',
  401: 'The API key is missing, unknown or revoked.',
  403: 'The rules of the API key do not allow this, its user is suspended, a quota is used up, or only admins may do this.',
  404: 'It does not exist, or it belongs to another user.',
  409: 'It conflicts with the present state; the sentence says how.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The body breaks a rule; the sentence names the field.',
  429: 'Too many requests came with this API key, or too many wrong API keys from this address; wait as long as `Retry-After` says.',
  500: 'The server failed; its log explains the failure under the `requestId`.',
  501: 'Millrace does not support this yet.',
  503: 'The database cannot be reached; try again after as many seconds as `Retry-After` says.',
  504: 'It is unknown whether the change was made; repeat the request with the same `Idempotency-Key`, or check first.',
} as const;

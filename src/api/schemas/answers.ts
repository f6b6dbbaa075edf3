/**
 * The answers that an operation may give.
 */
import type { TSchema } from 'typebox';
import { Type } from '#lib/schema.ts';
import { ErrorSchema } from './error.ts';
import { ref } from './ref.ts';

/** The schema of a 204 answer, which has no body. */
export const NOTHING = Type.Null({ description: 'The change was made.' });

/**
 * The answers of an operation by status: its own success and errors. The errors that every operation with an API key may give need not be
 * named; `describe-answers.ts` adds them.
 */
export function answers<Schema extends TSchema>(success: number, schema: Schema, ...errors: readonly ErrorStatus[]) {
  return { [success]: schema, ...failures(errors) };
}

/** A status that {@link answers} knows. */
export type ErrorStatus = keyof typeof REASONS;

/** The schemas of errors, by status. */
export function failures(errors: readonly ErrorStatus[]): Record<string, object> {
  return Object.fromEntries(errors.map((status) => [status, { ...ref(ErrorSchema), description: REASONS[status] }]));
}

const REASONS = {
  400: 'The JSON, the cursor, the query or a header is malformed or contradictory.',
  401: 'The API key is missing, unknown or revoked.',
  403: 'The rules of the API key do not allow this, its user is suspended, a quota is used up, or only admins may do this.',
  404: 'The object does not exist, or it belongs to another user.',
  409: 'The request conflicts with the present state; the error text says how.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The body breaks a rule; the error text names the field.',
  429: 'Too many requests came with this API key, or too many wrong API keys from this address; wait for as many seconds as `Retry-After` says.',
  500: 'The server failed; its log explains the failure under the `requestId`.',
  501: 'Millrace does not support this yet.',
  503: 'The database cannot be reached; try again after as many seconds as `Retry-After` says.',
  504: 'It is unknown whether the change was made; repeat the request with the same `Idempotency-Key`, or check first.',
} as const;

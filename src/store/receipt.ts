/**
 * What is stored together with a requested change: its audit entry, and the answer that a repeat of the request gets.
 */
import type { AuditEntry } from '#domain/audit.ts';
import type { UserId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';

/** What is stored in one transaction with a change that somebody requested. */
export interface Receipt {
  readonly audit: AuditEntry;
  /** The answer to repeats of the request from now on. See `Store.idempotency`. */
  readonly answer?: { readonly claim: IdempotencyClaim; readonly sealed: string } | undefined;
}

/** Milliseconds that the answer to a request is kept for repeats. */
export const ANSWERS_KEPT_MS = 24 * 3600 * 1000;

/** Identifies one repeatable request. */
export interface IdempotencyClaim {
  readonly userId: UserId;
  /** The method and route, such as `POST /stream`. */
  readonly route: string;
  /** SHA-256 of the `Idempotency-Key` in lower-case hex. */
  readonly keyHash: string;
  /** SHA-256, in lower-case hex, of all that makes two requests the same: the API key, and the values of path, query and body. */
  readonly bodyHash: string;
  readonly at: Milliseconds;
}

/** The state of a request that may be a repeat. */
export type IdempotencyState =
  | { readonly state: 'claimed' } // by this call, which must answer or release it
  | { readonly state: 'pending' } // an equal request is in progress
  | { readonly state: 'answered'; readonly sealed: string }
  | { readonly state: 'other_body' };

/**
 * The receipt of a request that changes something: what the audit log notes of it and, for a request that may be repeated, its
 * answer.
 */
import type { FastifyRequest } from 'fastify';
import type { AuditAction } from '#domain/audit.ts';
import { newAuditId } from '#domain/ids.ts';
import type { Receipt } from '#store/store.ts';

/** What a request changed. */
export interface Change {
  readonly action: AuditAction;
  /** Id of the stream, API key or user. */
  readonly resourceId: string;
  /** Names of the fields that were changed, for an update; never their values. */
  readonly fields?: readonly string[];
}

/** How a request is answered, down to the bytes. */
export interface Answer {
  /** 2xx */
  readonly status: number;
  /** Sent as JSON; undefined for an answer without a body. */
  readonly body: unknown;
}

/** The answer to a request that was carried out and needs no body. */
export const NO_CONTENT: Answer = { status: 204, body: undefined };

/**
 * Hand it to the call of the store that makes the change: both become durable together, or neither.
 *
 * @param answer exactly what will be answered, so that the request may be repeated with its `Idempotency-Key`.
 * It is kept sealed, and not at all when the request has no such key. When a request has several receipts, only one may have the answer
 */
export function receiptOf(
  request: FastifyRequest,
  { action, resourceId, fields = [] }: Change,
  answer?: Answer,
): Receipt {
  const { userId, keyId, keyName, at } = request.caller;
  return {
    audit: {
      id: newAuditId(),
      at,
      actor: { userId, keyId, keyName },
      action,
      resourceId,
      fields,
      remoteAddress: request.ip,
      requestId: request.id,
    },
    answer: answer && request.claimed && { claim: request.claimed.claim, sealed: request.claimed.seal(answer) },
  };
}

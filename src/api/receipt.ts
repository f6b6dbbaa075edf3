/**
 * The receipt of a request that changes something: the entry for the audit log and, for a repeatable request, its answer.
 */
import type { FastifyRequest } from 'fastify';
import type { AuditAction } from '#domain/audit.ts';
import { newAuditId } from '#domain/ids.ts';
import type { Receipt } from '#store/receipt.ts';

/** The change that a request made. */
export interface Change {
  readonly action: AuditAction;
  /** The id of what was changed; see `AuditEntry` for each kind. */
  readonly resourceId: string;
  /** The names of the fields that an update changed, without their values. */
  readonly fields?: readonly string[];
}

/** The answer to a request, from which its exact bytes are made. */
export interface Answer {
  /** A 2xx status. */
  readonly status: number;
  /** The body, sent as JSON. Undefined for an answer without a body. */
  readonly body: unknown;
}

/** The answer to a successful request that needs no body. */
export const NO_CONTENT: Answer = { status: 204, body: undefined };

/**
 * Makes the receipt to be handed to the store together with the change. Both become durable together, or neither does.
 *
 * @param answer exactly what will be answered, so that the request may be repeated with its `Idempotency-Key`. It is stored encrypted, and
 *   only if the request has such a key. When a request has several receipts, only one may hold the answer
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

/**
 * Requests that their sender may repeat: `Idempotency-Key` on any POST.
 */
import type { IdempotencyClaim } from '#store/store.ts';
import type { Answer } from './receipt.ts';

/** A request with an `Idempotency-Key` that was the first of its kind. */
export interface ClaimedRequest {
  readonly claim: IdempotencyClaim;
  /** The answer as only the same API key with the same `Idempotency-Key` can read it. */
  seal(answer: Answer): string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request with an `Idempotency-Key` is answered for the first time. */
    claimed?: ClaimedRequest;
  }
}

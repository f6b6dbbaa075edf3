/**
 * Requests that their sender may repeat, by means of `Idempotency-Key` on any POST, PUT, PATCH or DELETE.
 *
 * The first request of a key claims it in the store, so that its twins wait, also those that another process received. Its answer becomes
 * durable together with what it changed, so that there is never one without the other.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler, RouteOptions } from 'fastify';
import { ERRORS, MillraceError } from '#domain/errors.ts';
import { Type } from '#lib/schema.ts';
import { unreachable } from '#lib/unreachable.ts';
import type { IdempotencyClaim, Store } from '#store/store.ts';
import type { ApiInstance } from './api.ts';
import { presentedKey } from './presented-key.ts';
import type { Answer } from './receipt.ts';
import { openAnswer, type SealingKeys, type SentAnswer, sealAnswer } from './sealed-answer.ts';
import { WaitingClaims } from './waiting-claims.ts';

/** A request with an `Idempotency-Key` that was the first of its kind. */
export interface ClaimedRequest {
  readonly claim: IdempotencyClaim;
  /** Whether an answer was sealed, so that it is kept together with the change. */
  isSealed: boolean;
  /** The answer as only the same API key with the same `Idempotency-Key` can read it. */
  seal(answer: Answer): string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request with an `Idempotency-Key` is answered for the first time. */
    claimed?: ClaimedRequest;
  }
}

/** The methods of requests that may change something. */
const REPEATABLE = ['POST', 'PUT', 'PATCH', 'DELETE'];
/** For a twin that waited in vain. */
const RETRY_AFTER_S = 5;

const HEADERS = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[ -~]{1,255}$',
      examples: ['4d1b7c3e-9f0a-4b6e-8a57-2c64f1d0e9b3'],
      description:
        '1 to 255 printable ASCII characters, such as a UUID. For 24 hours the same request with the same key, of the same API key, is answered with the first answer and `Idempotency-Replayed: true`, and done only once. Another request with it is refused.',
    }),
  ),
});

/**
 * Makes requests repeatable on every route added from now on whose method may change something. A request without `Idempotency-Key` costs
 * no more than a look at its headers.
 */
export function makeRepeatable(api: ApiInstance, { store }: { readonly store: Pick<Store, 'idempotency'> }): void {
  const claim = claimHook(store);
  const release = releaseHook(store);
  api.addHook('onRoute', (route: RouteOptions) => {
    if (typeof route.method !== 'string' || !REPEATABLE.includes(route.method)) return;
    route.schema = { ...route.schema, headers: HEADERS };
    route.preHandler = [claim, ...[route.preHandler ?? []].flat()];
    route.onSend = [release, ...[route.onSend ?? []].flat()];
  });
}

/** Claims a request or answers it as before. Stands behind the checks of key and schema: what they refuse is never claimed. */
function claimHook(store: Pick<Store, 'idempotency'>): preHandlerHookHandler {
  const claims = new WaitingClaims(store);
  return (request, reply, done) => {
    const idempotencyKey = request.headers['idempotency-key'];
    if (typeof idempotencyKey !== 'string') {
      done();
      return;
    }
    const goOn = (isFirst: boolean) => {
      if (isFirst) done();
    };
    begin(claims, request, reply, idempotencyKey).then(goOn, done);
  };
}

/** Says whether it is to be done; if not, it was answered as before. */
async function begin(
  claims: WaitingClaims,
  request: FastifyRequest,
  reply: FastifyReply,
  idempotencyKey: string,
): Promise<boolean> {
  const claim = claimOf(request, idempotencyKey);
  const keys: SealingKeys = {
    apiKey: presentedKey(request),
    idempotencyKey,
    request: `${claim.userId} ${claim.route} ${claim.bodyHash}`,
  };
  const state = await claims.claim(claim);
  switch (state.state) {
    case 'claimed': {
      const claimed: ClaimedRequest = {
        claim,
        isSealed: false,
        seal({ status, body }) {
          claimed.isSealed = true;
          return sealAnswer({ status, text: JSON.stringify(body) }, keys);
        },
      };
      request.claimed = claimed;
      return true;
    }
    case 'answered':
      replay(reply, openAnswer(state.sealed, keys));
      return false;
    case 'pending':
      throw new MillraceError(
        'conflict',
        'The first request with this Idempotency-Key is still under way; repeat it after Retry-After.',
        { retryAfterS: RETRY_AFTER_S },
      );
    case 'other_body':
      throw new MillraceError(
        'idempotency_key_reused',
        'This Idempotency-Key came with another request, or with another API key, within 24 hours; choose a new one for a new request.',
      );
    default:
      return unreachable(state);
  }
}

/**
 * Releases the claim of a request that was refused or changed nothing, before its sender gets the answer, so that a repeat is judged anew.
 * A request whose outcome is unknown keeps its claim: if it was done, a repeat finds the answer, and if not, the claim runs out.
 */
function releaseHook(store: Pick<Store, 'idempotency'>): onSendHookHandler {
  return (request, reply, _payload, done) => {
    const { statusCode } = reply;
    const isSettled = (statusCode < 400 && request.claimed?.isSealed) || statusCode === ERRORS.outcome_unknown.status;
    if (!request.claimed || isSettled) {
      done();
      return;
    }
    // Without the store the claim runs out by itself.
    const goOn = () => done();
    store.idempotency.release(request.claimed.claim).then(goOn, goOn);
  };
}

/**
 * Two requests are the same when path, query and body mean the same and the API key is the same. The body counts as it was parsed,
 * so blanks do not matter, but the order of keys does. The API key is part of it, since only it can open the answer.
 */
function claimOf({ caller, method, routeOptions, params, query, body }: FastifyRequest, key: string): IdempotencyClaim {
  const meaning = JSON.stringify([caller.keyId, params, query, body]);
  return {
    userId: caller.userId,
    route: `${method} ${routeOptions.url}`,
    keyHash: sha256(key),
    bodyHash: sha256(meaning),
    at: caller.at,
  };
}

function replay(reply: FastifyReply, { status, text }: SentAnswer): void {
  reply.code(status).header('idempotency-replayed', 'true');
  if (text === undefined) void reply.send();
  else void reply.type('application/json; charset=utf-8').send(text);
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');

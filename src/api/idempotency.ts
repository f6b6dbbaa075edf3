/**
 * Makes POST, PUT, PATCH and DELETE requests repeatable by means of the header `Idempotency-Key`.
 *
 * The first request with a key claims it in the store. Repeats of it wait for its answer, also in other processes. The answer and the
 * change become durable together, so there is never one without the other. The room that the answers of a user take is limited.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler, RouteOptions } from 'fastify';
import { ERRORS, MillraceError } from '#domain/errors.ts';
import type { Secret } from '#domain/secret.ts';
import { Type } from '#lib/schema.ts';
import { unreachable } from '#lib/unreachable.ts';
import type { IdempotencyClaim, IdempotencyState } from '#store/receipt.ts';
import type { Store } from '#store/store.ts';
import type { ApiInstance } from './api.ts';
import { presentedKey } from './presented-key.ts';
import type { Answer } from './receipt.ts';
import { openAnswer, type SealingKeys, type SentAnswer, sealAnswer } from './sealed-answer.ts';
import type { AnswerRoom, StoredAnswers } from './stored-answers.ts';
import { WaitingClaims } from './waiting-claims.ts';

/** A request that claimed its `Idempotency-Key`, because it was the first with it. */
export interface ClaimedRequest {
  readonly claim: IdempotencyClaim;
  /** Whether an answer was sealed, to be stored together with the change. */
  isSealed: boolean;
  /** The part of the user's room in the database that the answer takes. */
  readonly room: AnswerRoom;
  /** Encrypts the answer, so that only the same API key with the same `Idempotency-Key` can read it. */
  seal(answer: Answer): string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while the first request with an `Idempotency-Key` is carried out. */
    claimed?: ClaimedRequest;
  }

  interface FastifyContextConfig {
    /** Whether the route changes nothing in the store. Its answer is then not stored either, and `Idempotency-Key` has no effect. */
    storesNothing?: boolean;
  }
}

/** The methods of requests that may change something. */
const REPEATABLE = ['POST', 'PUT', 'PATCH', 'DELETE'];
/** The `Retry-After` of a repeat that waited in vain for the first answer. */
const RETRY_AFTER_S = 5;

const HEADERS = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[ -~]{1,255}$',
      examples: ['4d1b7c3e-9f0a-4b6e-8a57-2c64f1d0e9b3'],
      description:
        '1 to 255 printable ASCII characters, such as a UUID. For 24 hours, a repeat of the request with the same value and the same API key is not carried out again: it gets the first answer, with `Idempotency-Replayed: true`. A different request with the same value is refused.',
    }),
  ),
});

/**
 * Makes requests repeatable on every route added from now on whose method may change something, unless the route says that it stores
 * nothing. Of a request without `Idempotency-Key`, only the headers are read.
 */
export function makeRepeatable(
  api: ApiInstance,
  { store, answers }: { readonly store: Pick<Store, 'idempotency'>; readonly answers: StoredAnswers },
): void {
  const claim = claimHook(new WaitingClaims(store), answers);
  const release = releaseHook(store);
  api.addHook('onRoute', (route: RouteOptions) => {
    if (typeof route.method !== 'string' || !REPEATABLE.includes(route.method)) return;
    if (route.config?.storesNothing === true) return;
    route.schema = { ...route.schema, headers: HEADERS };
    route.preHandler = [claim, ...[route.preHandler ?? []].flat()];
    route.onSend = [release, ...[route.onSend ?? []].flat()];
  });
}

/**
 * Claims a request or answers it with the stored answer. It runs after the checks of the API key and the schema, so that a request which
 * they refuse is never claimed.
 */
function claimHook(claims: WaitingClaims, answers: StoredAnswers): preHandlerHookHandler {
  return (request, reply, done) => {
    const idempotencyKey = request.headers['idempotency-key'];
    if (typeof idempotencyKey !== 'string') {
      done();
      return;
    }
    const goOn = (isFirst: boolean) => {
      if (isFirst) done();
    };
    begin(claims, answers, request, reply, idempotencyKey).then(goOn, done);
  };
}

/**
 * Claims the request if its user has room for the answer. Returns whether the request is to be carried out. If not, the stored answer was
 * sent.
 */
async function begin(
  claims: WaitingClaims,
  answers: StoredAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  idempotencyKey: string,
): Promise<boolean> {
  const presented = presentedKey(request);
  const claim = claimOf(request, presented, idempotencyKey);
  const keys: SealingKeys = {
    apiKey: presented,
    idempotencyKey,
    request: `${claim.userId} ${claim.route} ${claim.bodyHash}`,
  };
  const { room, retryAfterS } = answers.take(request.caller);
  let state: IdempotencyState | undefined;
  try {
    // Repeats of earlier requests need no room.
    state = room === undefined ? await claims.known(claim) : await claims.claim(claim);
  } finally {
    if (state?.state !== 'claimed') room?.giveBack();
  }
  if (state === undefined) {
    throw new MillraceError(
      'too_many_requests',
      `Too many answers to your requests of the last 24 hours with an Idempotency-Key are stored; try again in ${retryAfterS} s.`,
      { retryAfterS },
    );
  }
  switch (state.state) {
    case 'claimed': {
      const claimed: ClaimedRequest = {
        claim,
        isSealed: false,
        room: room!, // without room, a request is not claimed
        seal({ status, body }) {
          claimed.isSealed = true;
          const sealed = sealAnswer({ status, text: JSON.stringify(body) }, keys);
          claimed.room.grow(sealed);
          return sealed;
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
        'The first request with this Idempotency-Key is still in progress; repeat it after Retry-After.',
        { retryAfterS: RETRY_AFTER_S },
      );
    case 'other_body':
      throw new MillraceError(
        'idempotency_key_reused',
        'This Idempotency-Key was used for another request, or with another API key or token, within the last 24 hours; choose a new one for a new request.',
      );
    default:
      return unreachable(state);
  }
}

/**
 * Releases the claim of a request that was refused or changed nothing, before its answer is sent, so that a repeat is carried out anew. A
 * request whose outcome is unknown keeps its claim: if it was carried out, a repeat finds the answer, and if not, the claim expires.
 */
function releaseHook(store: Pick<Store, 'idempotency'>): onSendHookHandler {
  return (request, reply, _payload, done) => {
    const { statusCode } = reply;
    const isSettled = (statusCode < 400 && request.claimed?.isSealed) || statusCode === ERRORS.outcome_unknown.status;
    if (!request.claimed || isSettled) {
      done();
      return;
    }
    request.claimed.room.giveBack();
    // While the store is down, the claim expires by itself.
    const goOn = () => done();
    store.idempotency.release(request.claimed.claim).then(goOn, goOn);
  };
}

/**
 * Identifies a request. Two requests are the same when they have the same API key, and path, query and body mean the same. The body is
 * compared as it was parsed, so white space does not matter, but the order of fields does. The API key is part of the identity, because
 * only the same key can decrypt the answer. For a browser session, its token is part of the identity instead, because the answer is
 * encrypted with the token. The token changes every few minutes, while `keyId` is always that of the key with which the browser signed in.
 */
function claimOf(
  { caller, method, routeOptions, params, query, body }: FastifyRequest,
  presented: Secret,
  key: string,
): IdempotencyClaim {
  const credential = caller.browserSessionId === undefined ? caller.keyId : presented.hash();
  const meaning = JSON.stringify([credential, params, query, body]);
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

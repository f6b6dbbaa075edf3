/**
 * `GET /attempt`.
 */
import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { answers } from '#api/schemas/answers.ts';
import { AttemptSchema } from '#api/schemas/attempt.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { REFUSED_ATTEMPTS } from '#domain/attempt.ts';
import { areOneHost } from '#lib/own-host.ts';
import { Type } from '#lib/schema.ts';
import type { RecentAttempt } from '#live/recent-attempts.ts';
import { isInScope } from '#store/page.ts';

/** Milliseconds for which a caller sees an attempt of an unknown encoder from the caller's own address. */
const OWN_ADDRESS_MS = 120_000;
/** The largest number of attempts in an answer. */
const MAX_LISTED = 100;

const schema = {
  operationId: 'listAttempts',
  summary: 'List encoders that were refused',
  description:
    'Lists at most 100 refused attempts to publish, the latest first: the attempts of the last day that were meant for your streams, as far as the server can tell, and the attempts with an unknown key that came from the address of this request in the last two minutes. With `all`, admins see every attempt. Attempts are in memory, so a restart forgets them. Attempts that were meant for a stream are also stored, as events of the type `publish.refused`.',
  tags: ['ingest'],
  security: [{ apiKey: [] }],
  querystring: SCOPE_QUERY,
  response: answers(200, Type.Array(ref(AttemptSchema))),
};

/** Lists the refused attempts that a caller may see. */
export const listAttempts: ApiRoute = (api, { authenticate, attempts }) => {
  api.get('/attempt', { schema, onRequest: authenticate }, async (request) => {
    const { scope, at } = request.caller;
    const present = (attempt: RecentAttempt): Static<typeof AttemptSchema>[] => {
      const isFromHere = areOneHost(attempt.address, request.ip);
      const isOwn = attempt.userId === undefined ? scope === 'everyone' : isInScope(scope, attempt.userId);
      if (isOwn) return [presentAttempt(attempt, isFromHere)];
      return isFromHere && attempt.at >= at - OWN_ADDRESS_MS
        ? [presentAttempt(asSeenByOthers(attempt), isFromHere)]
        : [];
    };
    return attempts.recent.flatMap(present).slice(0, MAX_LISTED);
  });
};

/** An attempt without what only the owner of its stream may know. */
function asSeenByOthers(attempt: RecentAttempt): RecentAttempt {
  const reason = attempt.reason === 'too_many_attempts' ? attempt.reason : 'key_unknown';
  return { ...attempt, reason, message: REFUSED_ATTEMPTS[reason], streamId: undefined };
}

function presentAttempt(attempt: RecentAttempt, isFromHere: boolean): Static<typeof AttemptSchema> {
  const { reason, message, streamId, protocol, address, encoder, count, firstAt, at } = attempt;
  return {
    reason,
    message,
    ...(streamId !== undefined && { streamId }),
    protocol,
    address,
    isFromHere,
    ...(encoder !== undefined && { encoder }),
    count,
    firstAt,
    lastAt: at,
  };
}

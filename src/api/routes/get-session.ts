/**
 * `GET /session/<id>`.
 */
import type { ApiRoute } from '#api/api.ts';
import { presentSessions } from '#api/present-session.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { sessionIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { SessionSchema } from '#api/schemas/session.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type SessionId } from '#domain/ids.ts';

const schema = {
  operationId: 'getSession',
  summary: 'Get a session',
  description:
    'A session can be read for as long as the operator keeps sessions, also when its stream has been deleted.',
  tags: ['session'],
  security: [{ apiKey: [] }],
  params: sessionIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(SessionSchema), 404),
};

/** Answers with a session of the caller. */
export const getSession: ApiRoute = (api, context) => {
  const { authenticate, store } = context;
  api.get('/session/:id', { schema, onRequest: authenticate }, async (request) => {
    const { id } = request.params;
    const session = isUuid(id) ? await store.sessions.get(id as SessionId, request.caller.scope) : undefined;
    if (session) return (await presentSessions([session], context, request))[0]!;
    throw new MillraceError('not_found', 'You have no session with this id; list yours with GET /session.');
  });
};

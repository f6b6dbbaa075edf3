/**
 * `GET /session` and `GET /stream/<id>/sessions`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { findStream } from '#api/find-stream.ts';
import { readListOptions } from '#api/list-options.ts';
import { linkNext, sendCount } from '#api/page.ts';
import { presentSessions } from '#api/present-session.ts';
import { documentedOnly, type RawQuery } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { ACTIVE_QUERY, ADMIN_QUERY, listQuery, PARENT_QUERY, RECORD_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { SessionSchema } from '#api/schemas/session.ts';
import { Type } from '#lib/schema.ts';
import type { Scope } from '#store/page.ts';
import type { ListFilter } from '#store/store.ts';

const HOW = 'The list is newest first. The `Link` header leads to the next page.';

const all = {
  operationId: 'getSessions',
  summary: 'List sessions',
  description: `Lists every publish of your streams, including deleted streams, for as long as the operator keeps sessions. ${HOW}`,
  tags: ['session'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    ...listQuery('session'),
    ...ACTIVE_QUERY,
    ...PARENT_QUERY,
    ...RECORD_QUERY,
    ...ADMIN_QUERY,
  }),
  response: answers(200, Type.Array(ref(SessionSchema))),
};

/** Lists the caller's sessions. */
export const listSessions: ApiRoute = (api, context) => {
  const options = { schema: all, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/session', options, (request, reply) =>
    answer(context, request, reply, {
      path: '/session',
      scope: request.caller.scope,
      filter: {},
    }),
  );
};

const ofStream = {
  operationId: 'getStreamSessions',
  summary: 'List the sessions of a stream',
  description: `Lists every publish of the stream. ${HOW}`,
  tags: ['session'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: Type.Object({ ...listQuery('session'), ...ACTIVE_QUERY, ...RECORD_QUERY, ...ADMIN_QUERY }),
  response: answers(200, Type.Array(ref(SessionSchema)), 404),
};

/** Lists the sessions of a stream that has not been deleted. */
export const listStreamSessions: ApiRoute = (api, context) => {
  const options = { schema: ofStream, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/stream/:id/sessions', options, async (request, reply) => {
    const scope = request.caller.scope;
    const { id } = await findStream(context, request.params.id, scope);
    return await answer(context, request, reply, { path: `/stream/${id}/sessions`, scope, filter: { parentId: id } });
  });
};

async function answer(
  context: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { path, scope, filter }: { readonly path: string; readonly scope: Scope; readonly filter: ListFilter },
) {
  const { sessions } = context.store;
  const options = readListOptions(request.query as RawQuery, 'session', filter);
  const { rows, next } = await sessions.list(scope, options);
  await sendCount(request, reply, () => sessions.count(scope, options.filter, options.order));
  linkNext(request, reply, context, { path, list: options.list, next });
  return await presentSessions(rows, context, request);
}

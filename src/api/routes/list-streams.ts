/**
 * `GET /stream` and `GET /stream/user/<id>`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { readListOptions } from '#api/list-options.ts';
import { linkNext, sendCount } from '#api/page.ts';
import { presentChildStreams, presentStream } from '#api/present-stream.ts';
import { documentedOnly, type RawQuery, readFlag, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { ACTIVE_QUERY, ADMIN_QUERY, listQuery, STREAM_LIST_QUERY } from '#api/schemas/list-query.ts';
import { userIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { refuseOtherScope } from '#api/scope.ts';
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';
import type { PageKey, Scope } from '#store/page.ts';

const all = {
  operationId: 'getStreams',
  summary: 'List streams',
  description:
    'Lists your streams, newest first. While there are more, the `Link` header holds the URL of the next page (`rel="next"`): follow it until there is none. A stream that is created or deleted while you read moves no other stream to another page.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...listQuery('stream'), ...ACTIVE_QUERY, ...STREAM_LIST_QUERY, ...ADMIN_QUERY }),
  response: answers(200, Type.Array(ref(StreamSchema))),
};

/** Lists streams, or sessions in the form of streams. */
export const listStreams: ApiRoute = (api, context) => {
  const options = { schema: all, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/stream', options, (request, reply) =>
    answer(context, request, reply, { path: '/stream', scope: request.caller.scope }),
  );
};

const ofUser = {
  operationId: 'getStreamsOfUser',
  summary: 'List the streams of a user',
  description: 'Does what `GET /stream` does, for the user with this id: yourself, or any user if you are an admin.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: userIdParams,
  querystring: Type.Object({ ...listQuery('stream'), ...ACTIVE_QUERY, ...STREAM_LIST_QUERY }),
  response: answers(200, Type.Array(ref(StreamSchema))),
};

/** Lists the streams of one user. Allowed for that user and for admins. */
export const listStreamsOfUser: ApiRoute = (api, context) => {
  const options = { schema: ofUser, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/stream/user/:id', options, (request, reply) => {
    const { caller } = request;
    const scope = request.params.id as UserId;
    refuseOtherScope(caller, 'the path names the user');
    if (scope !== caller.userId && !caller.isAdmin) {
      throw new MillraceError('admin_only', 'Only an admin may list the streams of another user; use GET /stream.');
    }
    return answer(context, request, reply, { path: `/stream/user/${encodeURIComponent(scope)}`, scope });
  });
};

async function answer(
  context: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { path, scope }: { readonly path: string; readonly scope: Scope },
) {
  const { store, live } = context;
  const query = request.query as RawQuery;
  const ofSessions = readFlag(query, 'sessionsonly') ?? false;
  if (ofSessions && readFlag(query, 'streamsonly')) {
    throw refused('sessionsonly', 'contradicts streamsonly; send one of them');
  }
  const list = readListOptions(query, ofSessions ? 'session' : 'stream');
  const sendPage = async (next: PageKey | undefined) => {
    await sendCount(request, reply, () =>
      store[ofSessions ? 'sessions' : 'streams'].count(scope, list.filter, list.order),
    );
    linkNext(request, reply, context, { path, list: list.list, next });
  };
  if (ofSessions) {
    const { rows, next } = await store.sessions.list(scope, list);
    await sendPage(next);
    return await presentChildStreams(rows, context);
  }
  const { rows, next } = await store.streams.list(scope, list);
  await sendPage(next);
  return rows.map((stream) => presentStream(stream, { ...request.caller, scope }, live));
}

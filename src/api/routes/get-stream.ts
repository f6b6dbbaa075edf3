/**
 * `GET /stream/<id>`.
 */
import type { ApiRoute } from '#api/api.ts';
import type { Caller } from '#api/authenticate.ts';
import { presentChildStreams, streamJson } from '#api/present-stream.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type SessionId, type StreamId } from '#domain/ids.ts';
import { whenKnown } from '#lib/soon.ts';

const schema = {
  operationId: 'getStream',
  summary: 'Get a stream',
  description:
    'With the id of a session (one publish of a stream), answers with the session in the form of a stream: it has `parentId` and no `streamKey`.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(StreamSchema), 404),
};

/** Answers with a stream or session of the caller. One of another user gets the same answer as one that does not exist. */
export const getStream: ApiRoute = (api, { authenticate, store, live }) => {
  const sessionWithId = async (id: SessionId, { scope }: Caller) => {
    const session = await store.sessions.get(id, scope);
    if (session) return (await presentChildStreams([session], { store, live }))[0];
    throw notFound();
  };
  api.get('/stream/:id', { schema, onRequest: authenticate }, ({ params: { id }, caller }, reply) => {
    if (!isUuid(id)) throw notFound();
    return whenKnown(store.streams.get(id as StreamId, caller.scope), (stream) => {
      if (stream === undefined) return sessionWithId(id as SessionId, caller);
      void reply.type('application/json; charset=utf-8').send(streamJson(stream, caller, live));
      return undefined;
    });
  });
};

const notFound = () => new MillraceError('not_found', 'You have no stream with this id; list yours with GET /stream.');

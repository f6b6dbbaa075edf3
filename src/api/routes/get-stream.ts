/**
 * `GET /stream/<id>`.
 */
import { Type } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { presentSession, presentStream } from '#api/present.ts';
import { answers } from '#api/schemas/answers.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { MillraceError } from '#domain/errors.ts';
import type { SessionId, StreamId } from '#domain/ids.ts';

const schema = {
  summary: 'Get a stream',
  description: 'Also gives a session (one publish of a stream) by its id: it has `parentId` and no `streamKey`.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: Type.Object({ id: Type.String({ description: 'The id of the stream.' }) }),
  response: answers(200, ref(StreamSchema), 401, 404, 429, 503),
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Gives a stream or session of the caller; somebody else's is as unknown as one that does not exist. */
export const getStream: ApiRoute = (api, { authenticate, store, live }) => {
  api.get('/stream/:id', { schema, onRequest: authenticate }, async (request) => {
    const { id } = request.params;
    const { userId } = request.caller;
    if (UUID.test(id)) {
      const stream = await store.streams.get(id as StreamId, userId);
      if (stream) return presentStream(stream, live);
      const session = await store.sessions.get(id as SessionId, userId);
      if (session) return presentSession(session, live);
    }
    throw new MillraceError('not_found', 'You have no stream of that id; list yours with GET /stream.');
  });
};

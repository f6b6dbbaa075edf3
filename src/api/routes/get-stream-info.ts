/**
 * `GET /stream/<id>/info`.
 */
import type { FastifyRequest } from 'fastify';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { isStreamKey, streamByKey, streamByPlaybackId } from '#api/find-stream.ts';
import { presentSessions } from '#api/present-session.ts';
import { presentStream } from '#api/present-stream.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { anyIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamInfoSchema } from '#api/schemas/stream-info.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type SessionId, type StreamId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';

const schema = {
  operationId: 'getStreamInfo',
  summary: 'Find out what an id, stream key or playback id stands for',
  description:
    'Answers with the stream, and with the session whose id was sent or otherwise the newest session. Requests with wrong stream keys are throttled, together with publishers that use wrong keys.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: anyIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(StreamInfoSchema), 404),
};

/** The stream or session that was found, and the kind of text that named it. */
interface Found {
  readonly stream: Stream | undefined;
  readonly session?: Session | undefined;
  readonly by: 'id' | 'streamKey' | 'playbackId';
}

/** Answers with the stream and session of an id, stream key or playback id of the caller. */
export const getStreamInfo: ApiRoute = (api, context) => {
  const { authenticate, store, live } = context;
  api.get('/stream/:id/info', { schema, onRequest: authenticate }, async (request) => {
    const { stream, session, by } = await find(context, request, request.params.id);
    if (!stream) {
      throw new MillraceError(
        'not_found',
        'None of your streams and sessions has this id, stream key or playback id; list yours with GET /stream.',
      );
    }
    const newest = session ?? (await store.sessions.newest(stream.playbackId))?.session;
    return {
      stream: presentStream(stream, request.caller, live),
      session: newest ? (await presentSessions([newest], context, request))[0]! : null,
      isPlaybackid: by === 'playbackId',
      isSession: session !== undefined,
      isStreamKey: by === 'streamKey',
    };
  });
};

async function find(context: RouteContext, request: FastifyRequest, name: string): Promise<Found> {
  const { streams, sessions } = context.store;
  if (isStreamKey(name)) return { by: 'streamKey', stream: await streamByKey(context, name, request) };
  if (!isUuid(name)) return { by: 'playbackId', stream: await streamByPlaybackId(context, name, request.caller) };
  const scope = request.caller.scope;
  const stream = await streams.get(name as StreamId, scope);
  if (stream) return { by: 'id', stream };
  const session = await sessions.get(name as SessionId, scope);
  return { by: 'id', session, stream: session && (await streams.get(session.streamId, scope)) };
}

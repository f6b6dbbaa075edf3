/**
 * `GET /stream/key/<streamKey>` and `GET /stream/playback/<playbackId>`.
 */
import type { ApiRoute } from '#api/api.ts';
import { streamByKey, streamByPlaybackId } from '#api/find-stream.ts';
import { presentStream } from '#api/present-stream.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { playbackIdParams, streamKeyParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { MillraceError } from '#domain/errors.ts';

const common = {
  tags: ['stream'],
  security: [{ apiKey: [] }],
  querystring: SCOPE_QUERY,
  response: answers(200, ref(StreamSchema), 404),
};

const byKey = {
  ...common,
  operationId: 'getStreamByKey',
  summary: 'Get the stream with a stream key',
  description:
    'Use the id of the stream where you can, because proxies write paths into their logs. An API key with rules needs the method `publish` on the stream. Requests with wrong stream keys are throttled, together with publishers that use wrong keys.',
  params: streamKeyParams,
};

/** Answers with the caller's stream that has this stream key. */
export const getStreamByKey: ApiRoute = (api, { authenticate, store, live, throttle }) => {
  api.get('/stream/key/:streamKey', { schema: byKey, onRequest: authenticate }, async (request) => {
    const stream = await streamByKey({ store, throttle }, request.params.streamKey, request);
    if (stream) return presentStream(stream, request.caller, live);
    throw new MillraceError('not_found', 'You have no stream with this key; check it, or list yours with GET /stream.');
  });
};

const byPlaybackId = {
  ...common,
  operationId: 'getStreamByPlaybackId',
  summary: 'Get the stream with a playback id',
  description: 'The answer is that of `GET /stream/<id>`.',
  params: playbackIdParams,
};

/** Answers with the caller's stream that has this playback id. */
export const getStreamByPlaybackId: ApiRoute = (api, { authenticate, store, live }) => {
  const options = { schema: byPlaybackId, onRequest: authenticate };
  api.get('/stream/playback/:playbackId', options, async (request) => {
    const stream = await streamByPlaybackId({ store }, request.params.playbackId, request.caller);
    if (stream) return presentStream(stream, request.caller, live);
    throw new MillraceError('not_found', 'You have no stream with this playback id; list yours with GET /stream.');
  });
};

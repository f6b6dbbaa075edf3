/**
 * `POST /stream/<id>/test-picture` and `DELETE /stream/<id>/test-picture`.
 */
import type { ApiRoute } from '#api/api.ts';
import { findStream } from '#api/find-stream.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { TestPictureSchema } from '#api/schemas/test-picture.ts';
import { mayUseStreamKey } from '#api/stream-key.ts';
import { MillraceError } from '#domain/errors.ts';

const startSchema = {
  operationId: 'startTestPicture',
  summary: 'Publish a test picture to a stream',
  description:
    'The server publishes a moving picture with a clock and a tone for 60 seconds, so that a stream can be watched without an encoder. It stops sooner when an encoder publishes to this server with the stream key, when `DELETE` is sent, and when the stream is terminated or suspended. When the request is repeated, the 60 seconds begin again, up to ten minutes in all. Its session has the encoder `Millrace test picture`. A server publishes at most four at the same time, and at most one for each user. The answer is 409 while an encoder publishes to the stream, while another stream of the user has a test picture on the same server, or when the picture was stopped before it began. It is 503 where FFmpeg is not installed. The rules of the API key must allow `publish` on the stream.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(TestPictureSchema), 404, 409),
};

/** Starts a test picture. */
export const startTestPicture: ApiRoute = (api, { authenticate, store, testPictures }) => {
  const options = { schema: startSchema, onRequest: authenticate, config: { storesNothing: true } };
  api.post('/stream/:id/test-picture', options, async (request) => {
    const { caller } = request;
    const stream = await findStream({ store }, request.params.id, caller.scope);
    if (!mayUseStreamKey(caller, stream)) {
      throw new MillraceError(
        'insufficient_scope',
        'This API key may not publish to the stream; use one whose access.rules allow it.',
      );
    }
    return { until: await testPictures.start(stream) };
  });
};

const stopSchema = {
  operationId: 'stopTestPicture',
  summary: 'Stop the test picture of a stream',
  description: 'Succeeds also when no test picture is being published.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(204, NOTHING, 404),
};

/** Stops a test picture. */
export const stopTestPicture: ApiRoute = (api, { authenticate, store, testPictures }) => {
  const options = { schema: stopSchema, onRequest: authenticate, config: { storesNothing: true } };
  api.delete('/stream/:id/test-picture', options, async (request, reply) => {
    const stream = await findStream({ store }, request.params.id, request.caller.scope);
    await testPictures.stop(stream.id);
    return reply.code(204).send();
  });
};

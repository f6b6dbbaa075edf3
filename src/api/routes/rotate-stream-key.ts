/**
 * `POST /stream/<id>/rotate-key`.
 */
import type { ApiRoute } from '#api/api.ts';
import { findStream, unknownStream } from '#api/find-stream.ts';
import { presentWithNewKey } from '#api/present-stream.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { newStreamKey } from '#domain/secret.ts';

const schema = {
  operationId: 'rotateStreamKey',
  summary: 'Give a stream a new key',
  description:
    'From now on, the old key is refused. A publisher that is connected with it is disconnected, usually within a second. The playback id stays the same.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(StreamSchema), 404),
};

/** Replaces the stream key and answers with the new one. */
export const rotateStreamKey: ApiRoute = (api, { authenticate, store, live }) => {
  api.post('/stream/:id/rotate-key', { schema, onRequest: authenticate }, async (request) => {
    const { caller } = request;
    const { id } = request.params;
    const stream = await findStream({ store }, id, caller.scope);
    const streamKey = newStreamKey();
    const answer = presentWithNewKey({ ...stream, streamKey }, live);
    const receipt = receiptOf(request, { action: 'stream.key_rotated', resourceId: id }, { status: 200, body: answer });
    if (await store.streams.change(stream.id, caller.scope, { streamKey }, receipt)) return answer;
    throw await unknownStream({ store }, id, caller.scope); // deleted in between
  });
};

/**
 * `DELETE /stream/<id>/terminate`.
 */
import type { ApiRoute } from '#api/api.ts';
import { unknownStream } from '#api/find-stream.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type StreamId } from '#domain/ids.ts';

/**
 * The shortest time between two terminations of a stream. It keeps an encoder that reconnects at once from being disconnected in a loop.
 */
const NOT_WITHIN_MS = 5000;

const schema = {
  operationId: 'terminateStream',
  summary: 'End the broadcast of a stream',
  description:
    'Disconnects the publisher, usually within a second, whichever server it is connected to. The publisher may reconnect at once; to prevent this, suspend the stream. While nobody publishes, the call succeeds and does nothing. A second call within 5 seconds is answered with 429.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(204, NOTHING, 404),
};

/** Disconnects the publisher. */
export const terminateStream: ApiRoute = (api, { authenticate, store, clock }) => {
  api.delete('/stream/:id/terminate', { schema, onRequest: authenticate }, async (request, reply) => {
    const { id } = request.params;
    const scope = request.caller.scope;
    if (!isUuid(id)) throw await unknownStream({ store }, id, scope);
    const receipt = receiptOf(request, { action: 'stream.terminated', resourceId: id }, NO_CONTENT);
    const when = { at: clock.now(), notWithinMs: NOT_WITHIN_MS };
    const outcome = await store.streams.terminate(id as StreamId, scope, when, receipt);
    if (outcome === 'done') return reply.code(204).send();
    if (outcome === 'not_found') throw await unknownStream({ store }, id, scope);
    const retryAfterS = Math.ceil(outcome.retryAfterMs / 1000);
    throw new MillraceError(
      'too_many_terminates',
      `The stream was terminated less than ${NOT_WITHIN_MS / 1000} seconds ago; wait ${retryAfterS} s, or suspend the stream to refuse its publisher.`,
      { retryAfterS },
    );
  });
};

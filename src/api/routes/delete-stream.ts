/**
 * `DELETE /stream/<id>` and `DELETE /stream`.
 */
import type { FastifyRequest } from 'fastify';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { unknownStream } from '#api/find-stream.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamIdsSchema } from '#api/schemas/stream-change.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type StreamId } from '#domain/ids.ts';

const WHAT_HAPPENS =
  'Within a second, the publisher of a deleted stream is disconnected, and its viewers are told that it is offline. The stream key and the playback id are never used again. The sessions can still be read at `/session/<id>`.';

const one = {
  operationId: 'deleteStream',
  summary: 'Delete a stream',
  description: WHAT_HAPPENS,
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(204, NOTHING, 404),
};

/** Deletes one stream. */
export const deleteStream: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/stream/:id', { schema: one, onRequest: authenticate }, async (request, reply) => {
    const { id } = request.params;
    if (!(await deleteAll({ store }, request, [id]))) throw await unknownStream({ store }, id, request.caller.scope);
    return reply.code(204).send();
  });
};

const many = {
  operationId: 'deleteStreams',
  summary: 'Delete streams',
  description: `Deletes all of the streams, or none when one of the ids is unknown. ${WHAT_HAPPENS}`,
  tags: ['stream'],
  security: [{ apiKey: [] }],
  querystring: SCOPE_QUERY,
  body: ref(StreamIdsSchema),
  response: answers(204, NOTHING, 404, 422),
};

/** Deletes several streams, all or none. */
export const deleteStreams: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/stream', { schema: many, onRequest: authenticate }, async (request, reply) => {
    if (await deleteAll({ store }, request, request.body.ids)) return reply.code(204).send();
    throw new MillraceError(
      'not_found',
      'Nothing was deleted, because you have no stream with one of the ids; list yours with GET /stream.',
    );
  });
};

async function deleteAll(
  { store }: Pick<RouteContext, 'store'>,
  request: FastifyRequest,
  ids: readonly string[],
): Promise<boolean> {
  if (!ids.every(isUuid)) return false;
  const receipts = ids.map((resourceId, index) =>
    receiptOf(request, { action: 'stream.deleted', resourceId }, index === 0 ? NO_CONTENT : undefined),
  );
  return await store.streams.delete(ids as readonly StreamId[], request.caller.scope, receipts);
}

/**
 * `PATCH /stream/<id>`, `PATCH /stream/<id>/suspended` and `PATCH /stream/<id>/record`.
 */

import type { FastifyRequest } from 'fastify';
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { findStream, unknownStream } from '#api/find-stream.ts';
import { mustHaveWebhook } from '#api/playback-policy-rules.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { RecordSchema, StreamChangeSchema, SuspendedSchema } from '#api/schemas/stream-change.ts';
import { storedFields } from '#api/stream-rules.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type StreamId } from '#domain/ids.ts';
import type { StreamChange } from '#store/store.ts';

/** Fields that cannot change while the stream is active. */
const FIXED_WHILE_ACTIVE = ['profiles', 'record'] as const;

const common = {
  tags: ['stream'],
  security: [{ apiKey: [] }],
  params: streamIdParams,
  querystring: SCOPE_QUERY,
  response: answers(204, NOTHING, 404, 409, 422),
};

const schema = {
  ...common,
  operationId: 'updateStream',
  summary: 'Change a stream',
  description:
    'Fields that are left out stay as they are. `profiles: null` sets the default ladder. A new name, `suspended` and `playbackPolicy` take effect on a running broadcast usually within a second, whichever server it is on. A playback policy is replaced as a whole; null makes the stream public. `profiles` and `record` cannot be changed while media is coming in: the answer is 409.',
  body: ref(StreamChangeSchema),
};

/** Changes the fields that are sent. */
export const updateStream: ApiRoute = (api, context) => {
  const hooks = { onRequest: context.authenticate, preValidation: absentBodyIsEmpty };
  api.patch('/stream/:id', { schema, ...hooks }, async (request, reply) => {
    const { name, suspended, playbackPolicy } = request.body;
    const fields = storedFields(request.body, context.settings.defaultProfiles);
    if (playbackPolicy?.webhookId !== undefined) {
      const { userId } = await findStream(context, request.params.id, request.caller.scope);
      await mustHaveWebhook(playbackPolicy, userId, context.store);
    }
    await changeStream(context, request, request.params.id, {
      ...(name !== undefined && { name }),
      ...(suspended !== undefined && { suspended }),
      ...fields,
    });
    return reply.code(204).send();
  });
};

const suspendedSchema = {
  ...common,
  operationId: 'setStreamSuspended',
  summary: 'Suspend or resume a stream',
  description:
    'A suspended stream refuses publishers and viewers. Its publisher is disconnected, usually within a second.',
  body: ref(SuspendedSchema),
};

/** Sets `suspended`. */
export const setSuspended: ApiRoute = (api, context) => {
  const options = { schema: suspendedSchema, onRequest: context.authenticate };
  api.patch('/stream/:id/suspended', options, async (request, reply) => {
    await changeStream(context, request, request.params.id, { suspended: request.body.suspended });
    return reply.code(204).send();
  });
};

const recordSchema = {
  ...common,
  operationId: 'setStreamRecord',
  summary: 'Set whether to record a stream',
  description: 'Sets `record`, which applies to sessions that begin later. The answer is 409 while media is coming in.',
  body: ref(RecordSchema),
};

/** Sets `record`. */
export const setRecord: ApiRoute = (api, context) => {
  const options = { schema: recordSchema, onRequest: context.authenticate };
  api.patch('/stream/:id/record', options, async (request, reply) => {
    await changeStream(context, request, request.params.id, { record: request.body.record });
    return reply.code(204).send();
  });
};

/**
 * Changes a stream and adds an entry to the audit log. Live sessions follow the change, because the store announces it. A change without
 * fields only checks that the stream exists.
 * @throws {MillraceError} `not_found`, `invalid_request` for the id of a session, `conflict` for a field that cannot change while the
 *   stream is active
 */
async function changeStream(
  { store }: Pick<RouteContext, 'store'>,
  request: FastifyRequest,
  id: string,
  change: StreamChange,
): Promise<void> {
  const scope = request.caller.scope;
  const fields = Object.keys(change);
  if (fields.length === 0) {
    await findStream({ store }, id, scope);
    return;
  }
  if (!isUuid(id)) throw await unknownStream({ store }, id, scope);
  const fixed = FIXED_WHILE_ACTIVE.filter((field) => change[field] !== undefined);
  const receipt = receiptOf(request, { action: 'stream.updated', resourceId: id, fields }, NO_CONTENT);
  const changed = await store.streams
    .change(id as StreamId, scope, change, receipt, fixed.length > 0 ? 'idle' : undefined)
    .catch((error: unknown) => {
      if (!(error instanceof MillraceError) || error.code !== 'conflict') throw error;
      throw new MillraceError(
        'conflict',
        `The stream is active, so its ${fixed.join(' and ')} cannot change now; end the broadcast first, for example with DELETE /stream/<id>/terminate.`,
      );
    });
  if (!changed) throw await unknownStream({ store }, id, scope);
}

/**
 * `PATCH /stream/<id>` and its two short forms.
 */
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute } from '#api/api.ts';
import { changeStream } from '#api/change-stream.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { RecordSchema, StreamChangeSchema, SuspendedSchema } from '#api/schemas/stream-change.ts';
import { storedFields } from '#api/stream-rules.ts';

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
    'What is left out stays; `profiles: null` stands for the default ladder. A new name and `suspended` take effect on what is live within a second. `profiles` and `record` cannot change while media is coming in: 409.',
  body: ref(StreamChangeSchema),
};

/** Changes what is sent. */
export const updateStream: ApiRoute = (api, context) => {
  const hooks = { onRequest: context.authenticate, preValidation: absentBodyIsEmpty };
  api.patch('/stream/:id', { schema, ...hooks }, async (request, reply) => {
    const { name, suspended } = request.body;
    await changeStream(context, request, request.params.id, {
      ...(name !== undefined && { name }),
      ...(suspended !== undefined && { suspended }),
      ...storedFields(request.body, context.settings.defaultProfiles),
    });
    return reply.code(204).send();
  });
};

const suspendedSchema = {
  ...common,
  operationId: 'setStreamSuspended',
  summary: 'Suspend a stream, or let it go on',
  description: 'A suspended stream refuses publishers and viewers; its publisher is cut within a second.',
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
  summary: 'Have the sessions of a stream recorded, or not',
  description: 'Noted for sessions that begin later; recording itself is not there yet. While media is coming in: 409.',
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

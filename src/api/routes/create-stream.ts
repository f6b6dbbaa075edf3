/**
 * `POST /stream`.
 */
import type { ApiRoute } from '#api/api.ts';
import { mustHaveWebhook } from '#api/playback-policy-rules.ts';
import { presentWithNewKey } from '#api/present-stream.ts';
import { receiptOf } from '#api/receipt.ts';
import { answers } from '#api/schemas/answers.ts';
import { NewStreamSchema } from '#api/schemas/new-stream.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { refuseOtherScope } from '#api/scope.ts';
import { storedFields } from '#api/stream-rules.ts';
import { newStream, type Stream } from '#domain/stream.ts';

const schema = {
  operationId: 'createStream',
  summary: 'Create a stream',
  description:
    'The answer is sent once the stream is stored durably. Publish to the stream with its `streamKey`, and watch it with its `playbackId`.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  body: ref(NewStreamSchema),
  response: answers(201, ref(StreamSchema)),
};

/** Creates a stream that belongs to the caller. */
export const createStream: ApiRoute = (api, { authenticate, store, live, clock, settings }) => {
  api.post('/stream', { schema, onRequest: authenticate }, async (request, reply) => {
    const { caller, body } = request;
    refuseOtherScope(
      caller,
      'a stream belongs to the user of the API key; create a key of that user with POST /api-token',
    );
    const stream: Stream = {
      ...newStream({
        userId: caller.userId,
        name: body.name,
        createdAt: clock.now(),
        createdByTokenName: caller.keyName,
        profiles: settings.defaultProfiles,
      }),
      ...storedFields(body, settings.defaultProfiles),
    };
    await mustHaveWebhook(stream.playbackPolicy, caller.userId, store);
    const answer = presentWithNewKey(stream, live);
    const change = { action: 'stream.created', resourceId: stream.id } as const;
    const receipt = receiptOf(request, change, { status: 201, body: answer });
    await store.streams.create(stream, receipt, { atMost: caller.quotas.streams });
    reply.code(201);
    return answer;
  });
};

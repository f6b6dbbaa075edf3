/**
 * `POST /stream`.
 */
import type { ApiRoute } from '#api/api.ts';
import { presentStream } from '#api/present.ts';
import { profilesProblem } from '#api/profile-rules.ts';
import { answers } from '#api/schemas/answers.ts';
import { NewStreamSchema } from '#api/schemas/new-stream.ts';
import { ref } from '#api/schemas/ref.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { MillraceError } from '#domain/errors.ts';
import { newPlaybackId, newStreamId } from '#domain/ids.ts';
import { newStreamKey } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import { ms } from '#lib/units.ts';

const schema = {
  summary: 'Create a stream',
  description:
    'Answers once the stream is stored durably. Publish to it with its `streamKey`, watch it by its `playbackId`.',
  tags: ['stream'],
  security: [{ apiKey: [] }],
  body: ref(NewStreamSchema),
  response: answers(201, ref(StreamSchema), 400, 401, 413, 415, 422, 429, 503),
};

/** Creates a stream of the caller. */
export const createStream: ApiRoute = (api, { authenticate, store, live, clock, settings }) => {
  api.post('/stream', { schema, onRequest: authenticate }, async (request, reply) => {
    const { name, profiles } = request.body;
    const problem = profiles ? profilesProblem(profiles) : undefined;
    if (problem !== undefined) throw new MillraceError('invalid_body', problem);
    const stream: Stream = {
      id: newStreamId(),
      userId: request.caller.userId,
      name,
      createdAt: clock.now(),
      streamKey: newStreamKey(),
      playbackId: newPlaybackId(),
      createdByTokenName: request.caller.keyName,
      profiles: profiles ?? settings.defaultProfiles,
      isActive: false,
      lastSeen: ms(0),
      suspended: false,
    };
    await store.streams.create(stream);
    reply.code(201);
    return presentStream(stream, live);
  });
};

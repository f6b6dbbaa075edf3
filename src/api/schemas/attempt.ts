/**
 * A refused attempt to publish.
 */
import { REFUSED_ATTEMPTS, type RefusedAttempt } from '#domain/attempt.ts';
import { Type } from '#lib/schema.ts';
import { STREAM_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** A refused attempt with its repeats. It never holds the key that was tried. */
export const AttemptSchema = Type.Object(
  {
    reason: Type.Unsafe<RefusedAttempt>({
      type: 'string',
      enum: Object.keys(REFUSED_ATTEMPTS),
      description: 'Why the encoder was refused, for programs. A reason never changes its meaning.',
    }),
    message: Type.String({ description: 'The reason as a sentence for people, with what to change.' }),
    streamId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The id of the stream that the encoder was meant for. Absent when it is not known.',
      }),
    ),
    protocol: Type.String({ description: '`rtmp` or `rtmps`.' }),
    address: Type.String({ description: 'The address of the encoder.' }),
    isFromHere: Type.Boolean({
      description: 'Whether the encoder has the same address as the sender of this request.',
    }),
    encoder: Type.Optional(Type.String({ description: 'The name that the encoder gives itself.' })),
    count: Type.Integer({ description: 'How often the encoder tried.' }),
    firstAt: Type.Integer({ description: `When the encoder first tried, in ${MILLISECONDS}.` }),
    lastAt: Type.Integer({ description: `When the encoder last tried, in ${MILLISECONDS}.` }),
  },
  {
    $id: 'Attempt',
    description: 'A refused attempt to publish. Repeats of the same attempt are counted in one entry.',
    examples: [
      {
        reason: 'key_replaced',
        message: REFUSED_ATTEMPTS.key_replaced,
        streamId: STREAM_ID,
        protocol: 'rtmp',
        address: '203.0.113.7',
        isFromHere: true,
        encoder: 'obs-output module (libobs version 31.0.2)',
        count: 4,
        firstAt: 1_795_175_107_399,
        lastAt: 1_795_175_121_020,
      },
    ],
  },
);

/**
 * The stream and session that an id, stream key or playback id stands for.
 */
import type { Static } from 'typebox';
import { Type } from '#lib/schema.ts';
import { ref } from './ref.ts';
import { SESSION_EXAMPLES, SessionSchema } from './session.ts';
import { STREAM_EXAMPLES, StreamSchema } from './stream.ts';

/** Answer of `GET /stream/<id>/info`. The spelling of its fields is that of the reference service. */
export const StreamInfoSchema = Type.Object(
  {
    stream: ref(StreamSchema),
    session: Type.Unsafe<Static<typeof SessionSchema> | null>({
      anyOf: [ref(SessionSchema), { type: 'null' }],
      description:
        'The session with this id, or else the newest session of the stream. null when the stream has had none.',
    }),
    isPlaybackid: Type.Boolean(),
    isSession: Type.Boolean(),
    isStreamKey: Type.Boolean(),
  },
  {
    $id: 'StreamInfo',
    examples: [
      { stream: STREAM_EXAMPLES[0], session: null, isPlaybackid: false, isSession: false, isStreamKey: true },
      {
        stream: STREAM_EXAMPLES[1],
        session: SESSION_EXAMPLES[1],
        isPlaybackid: true,
        isSession: false,
        isStreamKey: false,
      },
    ],
  },
);

/**
 * The samples of a session's health.
 */
import { RENDITION_STATES, type RenditionState } from '#domain/health.ts';
import { Type } from '#lib/schema.ts';
import { SESSION_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** Samples of a session. */
export const SamplesSchema = Type.Object(
  {
    sessionId: Type.String({ format: 'uuid' }),
    step: Type.Integer({ description: 'Seconds from one sample to the next: 5 or 60.' }),
    renditions: Type.Array(Type.String(), {
      description: 'The names of the profiles, in the order of `renditions` in each sample.',
    }),
    samples: Type.Array(
      Type.Object({
        time: Type.Integer({ description: `When the sample ends, in ${MILLISECONDS}.` }),
        duration: Type.Number({ description: 'Seconds that the sample covers.' }),
        bitrate: Type.Object(
          { min: Type.Integer(), mean: Type.Integer(), max: Type.Integer() },
          {
            description:
              'Bits per second of the received media: `min` in the worst second, `mean` on average, `max` in the best second.',
          },
        ),
        fps: Type.Number({ description: 'Frames per second.' }),
        longestGap: Type.Number({ description: 'The longest time without a frame, in seconds.' }),
        keyframeInterval: Type.Optional(
          Type.Number({ description: 'Seconds between keyframes: the longest of the last five intervals.' }),
        ),
        speed: Type.Number({
          description: 'Seconds of media received in each second. Below 1, the uplink of the encoder is too slow.',
        }),
        drift: Type.Number({
          description:
            'Seconds by which the media lags behind the clock, compared with the best moment of the connection.',
        }),
        lag: Type.Optional(
          Type.Integer({
            description:
              'Milliseconds by which the transcoder lags behind the source. Absent where nothing is transcoded.',
          }),
        ),
        viewers: Type.Integer(),
        renditions: Type.Array(Type.Unsafe<RenditionState>({ type: 'string', enum: RENDITION_STATES }), {
          description:
            'The state of each rendition. In a sample of a minute, it is `shed` if the rendition was paused at any time. A profile without a rendition is `waiting`.',
        }),
      }),
      {
        description:
          'The samples, the oldest first. While no publisher is connected there are none, so a gap in time is a gap in the media.',
      },
    ),
  },
  {
    $id: 'Samples',
    examples: [
      {
        sessionId: SESSION_ID,
        step: 5,
        renditions: ['720p'],
        samples: [
          {
            time: 1_795_175_117_402,
            duration: 5,
            bitrate: { min: 4_310_000, mean: 5_020_000, max: 5_630_000 },
            fps: 30,
            longestGap: 0.041,
            keyframeInterval: 2,
            speed: 0.998,
            drift: 0.02,
            lag: 42,
            viewers: 17,
            renditions: ['running'],
          },
        ],
      },
    ],
  },
);

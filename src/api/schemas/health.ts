/**
 * The measured health of a session.
 */

import { MEASURED } from '#domain/events.ts';
import { RENDITION_STATES, type RenditionState } from '#domain/health.ts';
import { WARNINGS, type WarningCode, type WarningSeverity } from '#domain/warnings.ts';
import { Type } from '#lib/schema.ts';
import { MILLISECONDS } from './text.ts';

/** An example, used here and in the examples of streams. */
export const HEALTH = {
  encoder: 'obs-output module (libobs version 31.0.2)',
  source: {
    viewers: 9,
    video: { codec: 'avc1.640028', width: 1920, height: 1080, fps: 30, bitrate: 5_000_000, keyframeInterval: 9.6 },
    audio: { codec: 'mp4a.40.2', sampleRate: 48_000, channels: 2, bitrate: 130_000 },
  },
  renditions: [
    {
      name: '720p',
      state: 'running',
      viewers: 8,
      video: { codec: 'avc1.64001f', width: 1280, height: 720, fps: 30, bitrate: 1_982_000 },
    },
  ],
  leftOut: [],
  transcoder: { restarts: 0, lag: 42 },
  warnings: [
    {
      code: 'keyframe_interval_too_long',
      severity: 'issue',
      message: 'keyframe every 9.6 s; set the encoder to 2 s',
      since: 1_795_175_117_402,
      actual: 9.6,
      expected: 2,
      unit: 's',
    },
  ],
};

const fps = Type.Optional(
  Type.Number({ description: 'Measured frames per second. Absent while no media is coming in.' }),
);
const bitrate = Type.Optional(
  Type.Integer({ description: 'Bits per second, measured over the last 10 s. Absent while no media is coming in.' }),
);
const viewers = Type.Optional(
  Type.Integer({
    description:
      'Viewers who last requested a playlist of this rendition. Viewers of other servers and caches are not included. Absent when another server has the stream.',
  }),
);
const videoFields = {
  codec: Type.String({ description: 'The name of the codec (RFC 6381).' }),
  width: Type.Integer({ description: 'In pixels, as displayed.' }),
  height: Type.Integer({ description: 'In pixels, as displayed.' }),
  fps,
  bitrate,
};

/** The health of a session. */
export const HealthSchema = Type.Object(
  {
    encoder: Type.Optional(Type.String({ description: 'The name that the encoder gives itself.' })),
    source: Type.Object(
      {
        viewers,
        video: Type.Optional(
          Type.Object({
            ...videoFields,
            keyframeInterval: Type.Optional(
              Type.Number({ description: 'Seconds between keyframes: the longest of the last five intervals.' }),
            ),
          }),
        ),
        audio: Type.Optional(
          Type.Object({
            codec: Type.String({ description: 'The name of the codec (RFC 6381).' }),
            sampleRate: Type.Integer({ description: 'Samples per second.' }),
            channels: Type.Integer(),
            bitrate,
          }),
        ),
      },
      { description: 'The media that the publisher sends, which is passed on unchanged as the source rendition.' },
    ),
    renditions: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The name of the profile.' }),
        state: Type.Unsafe<RenditionState>({
          type: 'string',
          enum: RENDITION_STATES,
          description:
            '`waiting`: no frame has been encoded yet, or the transcoder is being restarted. `running`: the rendition is being made. `shed`: the rendition is paused because the server is too busy.',
        }),
        viewers,
        video: Type.Optional(Type.Object(videoFields)),
      }),
      { description: 'The renditions besides the source: one for each profile that is not in `leftOut`.' },
    ),
    leftOut: Type.Array(
      Type.Object({ name: Type.String({ description: 'The name of the profile.' }), reason: Type.String() }),
      {
        description:
          'Profiles without a rendition, each with the reason: `larger_than_source`, or `encoder_failed` when the encoder refused what the profile asks for.',
      },
    ),
    transcoder: Type.Optional(
      Type.Object(
        {
          restarts: Type.Integer({ description: 'How often the transcoder was restarted in this session.' }),
          lag: Type.Integer({ description: 'Milliseconds by which the transcoder lags behind the source.' }),
        },
        { description: 'The process that makes the renditions. Absent where nothing is transcoded.' },
      ),
    ),
    warnings: Type.Array(
      Type.Object({
        code: Type.Unsafe<WarningCode>({
          type: 'string',
          enum: Object.keys(WARNINGS),
          description: 'The code of the warning, for programs. A code never changes its meaning.',
        }),
        severity: Type.Unsafe<WarningSeverity>({
          type: 'string',
          enum: ['issue', 'notice'],
          description: 'An `issue` makes the stream unhealthy, a `notice` does not.',
        }),
        message: Type.String({ description: 'The warning, as a sentence for people.' }),
        since: Type.Integer({ description: `When the warning was raised, in ${MILLISECONDS}.` }),
        ...MEASURED,
      }),
      { description: 'The warnings that hold at this moment.' },
    ),
  },
  {
    $id: 'Health',
    description: 'The measured health of a session.',
    examples: [HEALTH],
  },
);

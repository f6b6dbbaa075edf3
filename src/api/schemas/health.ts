/**
 * The health of a session, measured.
 */
import { Type } from 'typebox';
import { WARNINGS, type WarningCode, type WarningSeverity } from '#domain/warnings.ts';
import { RENDITION_STATES, type RenditionState } from '#live/health.ts';
import { MILLISECONDS } from './text.ts';

/** For examples, here and where a stream holds one. */
export const HEALTH = {
  encoder: 'obs-output module (libobs version 31.0.2)',
  source: {
    video: { codec: 'avc1.640028', width: 1920, height: 1080, fps: 30, bitrate: 5_000_000, keyframeInterval: 9.6 },
    audio: { codec: 'mp4a.40.2', sampleRate: 48_000, channels: 2, bitrate: 130_000 },
  },
  renditions: [
    {
      name: '720p',
      state: 'running',
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
    },
  ],
};

const fps = Type.Optional(Type.Number({ description: 'Measured, frames per second. Absent while nothing comes.' }));
const bitrate = Type.Optional(
  Type.Integer({ description: 'Measured over the last 10 s, bits per second. Absent while nothing comes.' }),
);
const videoFields = {
  codec: Type.String({ description: 'As in RFC 6381.' }),
  width: Type.Integer({ description: 'Pixels, as displayed.' }),
  height: Type.Integer({ description: 'Pixels, as displayed.' }),
  fps,
  bitrate,
};

/** How a session is doing. */
export const HealthSchema = Type.Object(
  {
    encoder: Type.Optional(Type.String({ description: 'What the publisher calls itself.' })),
    source: Type.Object(
      {
        video: Type.Optional(
          Type.Object({
            ...videoFields,
            keyframeInterval: Type.Optional(
              Type.Number({ description: 'Measured, seconds: the longest of the last five.' }),
            ),
          }),
        ),
        audio: Type.Optional(
          Type.Object({
            codec: Type.String({ description: 'As in RFC 6381.' }),
            sampleRate: Type.Integer({ description: 'Hz.' }),
            channels: Type.Integer(),
            bitrate,
          }),
        ),
      },
      { description: 'What comes in. The source rendition is this, untouched.' },
    ),
    renditions: Type.Array(
      Type.Object({
        name: Type.String({ description: "The profile's." }),
        state: Type.Unsafe<RenditionState>({
          type: 'string',
          enum: RENDITION_STATES,
          description:
            '`waiting` for its first picture or for the transcoder to come back, `running`, or `shed`: not made for now, since the server is too busy.',
        }),
        video: Type.Optional(Type.Object(videoFields)),
      }),
      { description: 'What goes out besides the source, one for each profile that is not left out.' },
    ),
    leftOut: Type.Array(Type.Object({ name: Type.String({ description: "The profile's." }), reason: Type.String() }), {
      description: 'Profiles no rendition is made of, and why: `larger_than_source`.',
    }),
    transcoder: Type.Optional(
      Type.Object(
        {
          restarts: Type.Integer({ description: 'How often it had to be restarted in this session.' }),
          lag: Type.Integer({ description: 'Milliseconds it is behind.' }),
        },
        { description: 'Absent where nothing is transcoded.' },
      ),
    ),
    warnings: Type.Array(
      Type.Object({
        code: Type.Unsafe<WarningCode>({ type: 'string', enum: Object.keys(WARNINGS), description: 'Never renamed.' }),
        severity: Type.Unsafe<WarningSeverity>({
          type: 'string',
          enum: ['issue', 'notice'],
          description: 'An `issue` makes the stream unhealthy, a `notice` does not.',
        }),
        message: Type.String({ description: 'A sentence for people.' }),
        since: Type.Integer({ description: `${MILLISECONDS}.` }),
      }),
      { description: 'What is amiss or worth knowing now.' },
    ),
  },
  {
    $id: 'Health',
    description: 'How a session is doing, measured.',
    examples: [HEALTH],
  },
);

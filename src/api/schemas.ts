/**
 * The objects of the interface, defined once: the same definitions check requests, give handlers their types and make the
 * OpenAPI document. A request field's description completes "send ...", since it ends the sentence a wrong value is answered with.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { H264_PROFILES } from '#domain/profile.ts';
import { WARNINGS, type WarningCode, type WarningSeverity } from '#domain/warnings.ts';
import { RENDITION_STATES, type RenditionState } from '#live/health.ts';

/** At most this many profiles a stream. */
export const MAX_PROFILES = 16;

/** Text that can be stored and echoed byte for byte: no U+0000, no half of a surrogate pair. */
const STORABLE = '^[^\\u0000\\uD800-\\uDFFF]*$';
/** As {@link STORABLE}, without control characters, since it will stand in playlists. */
const PRINTABLE = '^[^\\u0000-\\u001F\\u007F\\uD800-\\uDFFF]*$';

/** One output rendition asked for. */
export const ProfileSchema = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 500,
      pattern: PRINTABLE,
      description: 'text of 1 to 500 characters without control characters, unique in the stream, not "source".',
    }),
    bitrate: Type.Integer({
      minimum: 400,
      maximum: 200_000_000,
      description: 'bits per second, a whole number from 400 to 200000000.',
    }),
    fps: Type.Integer({
      minimum: 0,
      maximum: 240_000,
      description:
        'frames per second over fpsDen, a whole number: at most 240 a second, or 0 for the rate of the source.',
    }),
    width: Type.Integer({ minimum: 128, maximum: 8192, description: 'pixels, a whole number from 128 to 8192.' }),
    height: Type.Integer({ minimum: 128, maximum: 8192, description: 'pixels, a whole number from 128 to 8192.' }),
    fpsDen: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1001,
        description: 'the denominator of fps, a whole number from 1 to 1001 (fps 30000 over fpsDen 1001 is 29.97).',
      }),
    ),
    gop: Type.Optional(
      Type.String({
        pattern: '^(intra|[0-9]{1,2}(\\.[0-9]{1,3})?)$',
        description:
          'the keyframe interval as text: seconds such as "2.0", "0" for the encoder\'s default, or "intra".',
      }),
    ),
    profile: Type.Optional(
      Type.Unsafe<(typeof H264_PROFILES)[number]>({
        type: 'string',
        enum: [...H264_PROFILES],
        description: 'an H.264 profile.',
      }),
    ),
    quality: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 44, description: 'a constant quality, a whole number from 0 to 44.' }),
    ),
    encoder: Type.Optional(
      Type.Literal('H.264', { type: 'string', description: 'the only encoder there is, or leave it out.' }),
    ),
  },
  {
    $id: 'Profile',
    additionalProperties: false,
    description: 'One output rendition. It comes back exactly as it was sent.',
    examples: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
  },
);

/** What a client sends to create a stream. */
export const NewStreamSchema = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 512,
      pattern: STORABLE,
      description: 'text of 1 to 512 characters, without U+0000 and unpaired surrogates.',
    }),
    profiles: Type.Optional(
      Type.Unsafe<Static<typeof ProfileSchema>[] | null>({
        type: ['array', 'null'],
        items: ref(ProfileSchema),
        maxItems: MAX_PROFILES,
        description: `a list of at most ${MAX_PROFILES} profiles, null or nothing for the default ladder, or [] for the source rendition only.`,
      }),
    ),
  },
  {
    $id: 'NewStream',
    additionalProperties: false,
    examples: [
      { name: 'my first stream', profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }] },
    ],
  },
);

const milliseconds = 'Milliseconds since the Unix epoch';

/** For examples. */
const HEALTH = {
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
        since: Type.Integer({ description: `${milliseconds}.` }),
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

/** A stream, or one of its sessions: those have `parentId` and no `streamKey`. */
export const StreamSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.Literal('stream', { type: 'string' }),
    name: Type.String(),
    userId: Type.String({ format: 'uuid', description: 'Its owner.' }),
    createdAt: Type.Integer({ description: `${milliseconds}.` }),
    streamKey: Type.Optional(
      Type.String({ description: 'The secret to publish with, as rtmp://host/live/<streamKey>. Absent on a session.' }),
    ),
    playbackId: Type.String({ description: 'What viewers use, as /hls/<playbackId>/index.m3u8. Not a secret.' }),
    createdByTokenName: Type.String({ description: 'Name of the API key that created it, as it was then.' }),
    profiles: Type.Array(ref(ProfileSchema)),
    parentId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The stream this session belongs to. Absent on a stream.' }),
    ),
    isActive: Type.Boolean({ description: 'Whether media is coming in now.' }),
    lastSeen: Type.Integer({ description: `${milliseconds} when media last came in; 0 = never.` }),
    suspended: Type.Boolean(),
    record: Type.Boolean({ description: 'Always false: recording is not there yet.' }),
    multistream: Type.Object({ targets: Type.Array(Type.Object({})) }, { description: 'Always empty for now.' }),
    isHealthy: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether all is well while media is coming in; null while none is.',
    }),
    issues: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'What makes it unhealthy, in sentences for people; null while no media is coming in.',
    }),
    ingestRate: Type.Optional(
      Type.Integer({ description: 'Bytes per second coming in, measured. Absent while no media is.' }),
    ),
    health: Type.Optional(ref(HealthSchema)),
  },
  {
    $id: 'Stream',
    examples: [
      {
        id: '66e2161c-7670-4d05-b71d-da2d6979556f',
        kind: 'stream',
        name: 'my first stream',
        userId: '29e3b0a5-7a3e-4f0e-9f3e-2f9a3a5bd1f4',
        createdAt: 1_795_175_107_399,
        streamKey: '7f3q-x0m2-9kdp-4rtz',
        playbackId: '5v8c2hq0jn6t1wkz',
        createdByTokenName: 'default',
        profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
        isActive: false,
        lastSeen: 0,
        suspended: false,
        record: false,
        multistream: { targets: [] },
        isHealthy: null,
        issues: null,
      },
      {
        id: '66e2161c-7670-4d05-b71d-da2d6979556f',
        kind: 'stream',
        name: 'my first stream',
        userId: '29e3b0a5-7a3e-4f0e-9f3e-2f9a3a5bd1f4',
        createdAt: 1_795_175_107_399,
        streamKey: '7f3q-x0m2-9kdp-4rtz',
        playbackId: '5v8c2hq0jn6t1wkz',
        createdByTokenName: 'default',
        profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
        isActive: true,
        lastSeen: 1_795_175_210_004,
        suspended: false,
        record: false,
        multistream: { targets: [] },
        isHealthy: false,
        issues: ['keyframe every 9.6 s; set the encoder to 2 s'],
        ingestRate: 641_250,
        health: HEALTH,
      },
    ],
  },
);

/** How to play a playback id. */
export const PlaybackSchema = Type.Object(
  {
    type: Type.Literal('live', { type: 'string' }),
    meta: Type.Object({
      live: Type.Integer({ minimum: 0, maximum: 1, description: '1 while media is coming in, else 0.' }),
      source: Type.Array(
        Type.Object({
          hrn: Type.String({ description: 'What it is, for people.' }),
          type: Type.String({ description: 'What it is, for players.' }),
          url: Type.String({ format: 'uri' }),
        }),
      ),
    }),
  },
  {
    $id: 'Playback',
    examples: [
      {
        type: 'live',
        meta: {
          live: 1,
          source: [
            {
              hrn: 'HLS (TS)',
              type: 'html5/application/vnd.apple.mpegurl',
              url: 'https://live.example.com/hls/5v8c2hq0jn6t1wkz/index.m3u8',
            },
            {
              hrn: 'Thumbnail (JPEG)',
              type: 'image/jpeg',
              url: 'https://live.example.com/hls/5v8c2hq0jn6t1wkz/thumbnail.jpg',
            },
          ],
        },
      },
    ],
  },
);

/** Where to publish to and play from. */
export const IngestSchema = Type.Object(
  {
    ingest: Type.String({ format: 'uri', description: 'Publish to this, a slash and the stream key.' }),
    playback: Type.String({ format: 'uri', description: 'Play from this, a slash, the playback id and /index.m3u8.' }),
    base: Type.String({ format: 'uri' }),
    origin: Type.String({ format: 'uri' }),
  },
  {
    $id: 'Ingest',
    examples: [
      {
        ingest: 'rtmp://live.example.com/live',
        playback: 'https://live.example.com/hls',
        base: 'https://live.example.com',
        origin: 'https://live.example.com',
      },
    ],
  },
);

/** Every error. */
export const ErrorSchema = Type.Object(
  {
    errors: Type.Array(Type.String(), { description: 'Sentences for people: the field, what is wrong, the way out.' }),
    code: Type.String({ description: 'For programs; never renamed.' }),
    requestId: Type.String({ description: 'Names this request in the logs of the server; also in x-request-id.' }),
  },
  {
    $id: 'Error',
    examples: [
      {
        errors: ['The field name is missing: text of 1 to 512 characters, without U+0000 and unpaired surrogates.'],
        code: 'invalid_body',
        requestId: 'k3v9w0qa-1f',
      },
    ],
  },
);

/** All of them, for the document's list of components. */
export const SCHEMAS = [
  ProfileSchema,
  NewStreamSchema,
  HealthSchema,
  StreamSchema,
  PlaybackSchema,
  IngestSchema,
  ErrorSchema,
];

/** The same schema by its name, so that the document says it once. */
export function ref<Schema extends TSchema>(schema: Schema) {
  const { $id } = schema as { readonly $id?: string };
  return Type.Unsafe<Static<Schema>>({ $ref: `${$id}#` });
}

/** The answers an operation may give, by status: its own and errors. */
export function answers<Schema extends TSchema>(
  success: number,
  schema: Schema,
  ...errors: readonly (keyof typeof REASONS)[]
) {
  const failures = errors.map((status) => [status, { ...ref(ErrorSchema), description: REASONS[status] }] as const);
  return { [success]: schema, ...Object.fromEntries(failures) };
}

const REASONS = {
  400: 'Malformed JSON, cursor or query.',
  401: 'No API key, or one that is unknown or revoked.',
  404: "Unknown, or somebody else's.",
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The body breaks a rule; the sentence names the field.',
  429: 'Too many wrong API keys from this address; wait as long as Retry-After says.',
  503: 'The store is away; try again after Retry-After.',
} as const;

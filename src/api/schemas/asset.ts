/**
 * Recordings and clips as their owner sees them, and what a client sends to make and change them.
 */
import { Type } from '#lib/schema.ts';
import { PlaybackPolicySchema, playbackPolicyField } from './playback-policy.ts';
import { ref } from './ref.ts';
import { CLIP_ID, CLIP_PLAYBACK_ID, PLAYBACK_ID, SESSION_ID, USER_ID } from './sample-ids.ts';
import { creatorIdField, nameField } from './stream-fields.ts';
import { MILLISECONDS } from './text.ts';

/** The phases of assets that a client can see. */
export const API_ASSET_PHASES = ['waiting', 'processing', 'ready', 'failed', 'deleting', 'deleted'] as const;
/** The kinds of assets, in the words of the reference service. */
export const ASSET_SOURCE_TYPES = ['recording', 'clip'] as const;

const optional = (description: string) => Type.Optional(Type.String({ description }));

const CLIP = {
  id: CLIP_ID,
  playbackId: CLIP_PLAYBACK_ID,
  userId: USER_ID,
  name: 'the goal',
  createdAt: 1_795_175_307_913,
  type: 'video',
  size: 4_072_000,
  source: { type: 'clip', sessionId: SESSION_ID, assetId: SESSION_ID, requesterId: USER_ID, playbackId: PLAYBACK_ID },
  status: { phase: 'ready', updatedAt: 1_795_175_307_913 },
  playbackUrl: 'https://live.example.com/recordings/0k3n9v2x7b5m8q1d/index.m3u8',
  downloadUrl: 'https://live.example.com/recordings/0k3n9v2x7b5m8q1d/source.mp4',
  startTime: 1_795_175_290_000,
  endTime: 1_795_175_302_000,
  videoSpec: {
    format: 'mp4',
    duration: 12,
    bitrate: 2_714_667,
    tracks: [
      { type: 'video', codec: 'h264', bitrate: 2_586_667, width: 1280, height: 720, fps: 30 },
      { type: 'audio', codec: 'aac', bitrate: 128_000, channels: 2, sampleRate: 48_000 },
    ],
  },
} as const;

const TrackSchema = Type.Object({
  type: Type.Unsafe<'video' | 'audio'>({ type: 'string', enum: ['video', 'audio'] }),
  codec: Type.String({ description: 'The name of the codec, such as `h264` or `aac`.' }),
  bitrate: Type.Integer({ description: 'Bits per second, measured.' }),
  width: Type.Optional(Type.Integer()),
  height: Type.Optional(Type.Integer()),
  fps: Type.Optional(Type.Number()),
  channels: Type.Optional(Type.Integer()),
  sampleRate: Type.Optional(Type.Integer()),
});

/** A recording or a clip. */
export const AssetSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The id of the asset. A recording has the id of its session.' }),
    playbackId: Type.String({ description: 'The playback id of the asset, for `GET /playback/<id>`.' }),
    userId: Type.String({ format: 'uuid', description: 'The id of the user that the asset belongs to.' }),
    name: Type.String(),
    createdAt: Type.Integer({ description: `When the recording began or the clip was made, in ${MILLISECONDS}.` }),
    type: Type.Unsafe<'video' | 'audio'>({ type: 'string', enum: ['video', 'audio'] }),
    size: Type.Optional(
      Type.Integer({
        description:
          'The bytes of all renditions of a recording. For a clip, which takes no space of its own, about the bytes of its MP4.',
      }),
    ),
    source: Type.Object(
      {
        type: Type.Unsafe<(typeof ASSET_SOURCE_TYPES)[number]>({ type: 'string', enum: [...ASSET_SOURCE_TYPES] }),
        sessionId: Type.String({ format: 'uuid', description: 'The id of the session that was recorded.' }),
        assetId: optional('The id of the recording that a clip is part of. Absent for recordings.'),
        playbackId: optional('The playback id with which a clip was requested. Absent for recordings.'),
        requesterId: optional('The id of the user who made a clip. Absent for recordings.'),
      },
      { description: 'What the asset shows.' },
    ),
    status: Type.Object({
      phase: Type.Unsafe<(typeof API_ASSET_PHASES)[number]>({
        type: 'string',
        enum: [...API_ASSET_PHASES],
        description:
          '`waiting`: the recording is running. `processing`: its session has ended, and it is being completed. `ready`: it is complete. `failed`: it could not be completed, and `errorMessage` says why. A recording can be watched and downloaded from its first seconds on.',
      }),
      updatedAt: Type.Integer({ description: `When the asset was last changed, in ${MILLISECONDS}.` }),
      errorMessage: optional('Why the asset has failed, as a sentence.'),
    }),
    playbackUrl: Type.Optional(Type.String({ format: 'uri', description: 'The HLS playlist.' })),
    downloadUrl: Type.Optional(
      Type.String({ format: 'uri', description: 'The MP4 of the best rendition, or the audio if there is no video.' }),
    ),
    creatorId: Type.Optional(
      Type.Object({ type: Type.Literal('unverified', { type: 'string' }), value: Type.String() }),
    ),
    playbackPolicy: Type.Optional({
      ...ref(PlaybackPolicySchema),
      description: 'The policy that says who may watch. Absent while the policy of the stream applies.',
    }),
    startTime: Type.Optional(Type.Integer({ description: `When the first frame was shown, in ${MILLISECONDS}.` })),
    endTime: Type.Optional(
      Type.Integer({
        description: `When the media ends, in ${MILLISECONDS}. It grows while the recording is running.`,
      }),
    ),
    videoSpec: Type.Optional(
      Type.Object(
        {
          format: Type.Literal('mp4', { type: 'string' }),
          duration: Type.Number({ description: 'Seconds of media. Pauses of the publisher do not count.' }),
          bitrate: Type.Integer({ description: 'Bits per second of the best rendition with its audio.' }),
          tracks: Type.Array(TrackSchema, { description: 'The best video rendition, and the audio.' }),
        },
        { description: 'Absent until something is recorded.' },
      ),
    ),
  },
  { $id: 'Asset', description: 'A recording of a session, or a clip of one.', examples: [CLIP] },
);

const time = (description: string) => Type.Number({ minimum: 0, maximum: 8_640_000_000_000_000, description });

/** Body of `POST /clip`. */
export const NewClipSchema = Type.Object(
  {
    playbackId: Type.String({
      maxLength: 64,
      description: 'the playback id of one of your streams, recordings or clips.',
    }),
    startTime: time(
      'the time of the first frame, in milliseconds since the Unix epoch, as in EXT-X-PROGRAM-DATE-TIME.',
    ),
    endTime: Type.Optional(
      time('the time of the end, in milliseconds since the Unix epoch; leave it out to end the clip now.'),
    ),
    name: Type.Optional(nameField),
    sessionId: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'the id of a session of the stream; leave it out for the session at that time.',
      }),
    ),
  },
  {
    $id: 'NewClip',
    additionalProperties: false,
    examples: [
      { playbackId: PLAYBACK_ID, startTime: 1_795_175_290_000, endTime: 1_795_175_302_000, name: 'the goal' },
      { playbackId: PLAYBACK_ID, startTime: 1_795_175_290_000 },
    ],
  },
);

/** Answer of `POST /clip`. */
export const CreatedClipSchema = Type.Object(
  {
    task: Type.Object({ id: Type.String({ format: 'uuid', description: 'The id for `GET /task/<id>`.' }) }),
    asset: ref(AssetSchema),
  },
  { $id: 'CreatedClip', examples: [{ task: { id: CLIP_ID }, asset: CLIP }] },
);

/** Body of `PATCH /asset/<id>`. Fields that are left out stay as they are. */
export const AssetChangeSchema = Type.Object(
  { name: Type.Optional(nameField), creatorId: creatorIdField, playbackPolicy: playbackPolicyField },
  {
    $id: 'AssetChange',
    additionalProperties: false,
    examples: [{ name: 'the evening show' }, { playbackPolicy: { type: 'jwt' } }],
  },
);

/** The task that made a clip. */
export const TaskSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The id of the clip.' }),
    type: Type.Literal('clip', { type: 'string' }),
    createdAt: Type.Integer({ description: `When the clip was made, in ${MILLISECONDS}.` }),
    inputAssetId: Type.String({ format: 'uuid', description: 'The id of the recording that the clip is part of.' }),
    outputAssetId: Type.String({ format: 'uuid', description: 'The id of the clip as an asset.' }),
    requesterId: Type.String({ format: 'uuid', description: 'The id of the user who made the clip.' }),
    status: Type.Object({
      phase: Type.Literal('completed', { type: 'string' }),
      updatedAt: Type.Integer({ description: `When the clip was made, in ${MILLISECONDS}.` }),
      progress: Type.Literal(1, { type: 'integer' }),
    }),
  },
  {
    $id: 'Task',
    description: 'The task that made a clip. Clips are made at once, so every task is completed.',
    examples: [
      {
        id: CLIP_ID,
        type: 'clip',
        createdAt: 1_795_175_307_913,
        inputAssetId: SESSION_ID,
        outputAssetId: CLIP_ID,
        requesterId: USER_ID,
        status: { phase: 'completed', updatedAt: 1_795_175_307_913, progress: 1 },
      },
    ],
  },
);

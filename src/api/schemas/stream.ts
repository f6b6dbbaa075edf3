/**
 * The stream as its owner sees it.
 */
import { Type } from 'typebox';
import type { UserTags } from '#domain/stream.ts';
import { HEALTH, HealthSchema } from './health.ts';
import { ProfileSchema } from './profile.ts';
import { ref } from './ref.ts';
import { PLAYBACK_ID, STREAM_ID, STREAM_KEY, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** How it is doing, in short; the same on a session. */
export const healthFields = {
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
  outgoingRate: Type.Optional(
    Type.Integer({ description: 'Bytes per second of what is made of it, measured. Absent while no media comes in.' }),
  ),
};

const IDLE = {
  id: STREAM_ID,
  kind: 'stream',
  name: 'my first stream',
  userId: USER_ID,
  createdAt: 1_795_175_107_399,
  streamKey: STREAM_KEY,
  playbackId: PLAYBACK_ID,
  createdByTokenName: 'default',
  profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
  isActive: false,
  lastSeen: 0,
  suspended: false,
  record: false,
  multistream: { targets: [] },
  isHealthy: null,
  issues: null,
} as const;

/** For examples, here and where an object holds one: idle, and live. */
export const STREAM_EXAMPLES = [
  IDLE,
  {
    ...IDLE,
    isActive: true,
    lastSeen: 1_795_175_210_004,
    isHealthy: false,
    issues: ['keyframe every 9.6 s; set the encoder to 2 s'],
    ingestRate: 641_250,
    outgoingRate: 247_750,
    health: HEALTH,
  },
] as const;

/** A stream, or one of its sessions: those have `parentId` and no `streamKey`. */
export const StreamSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.Literal('stream', { type: 'string' }),
    name: Type.String(),
    userId: Type.String({ format: 'uuid', description: 'Its owner.' }),
    createdAt: Type.Integer({ description: `${MILLISECONDS}.` }),
    streamKey: Type.Optional(
      Type.String({
        description:
          'The secret to publish with, as rtmp://host/live/<streamKey>. Absent in sessions, and in answers to API keys whose rules do not allow `publish`.',
      }),
    ),
    playbackId: Type.String({ description: 'What viewers use, as /hls/<playbackId>/index.m3u8. Not a secret.' }),
    createdByTokenName: Type.String({ description: 'Name of the API key that created it, as it was then.' }),
    creatorId: Type.Optional(
      Type.Object(
        { type: Type.Literal('unverified', { type: 'string' }), value: Type.String() },
        { description: 'Who made it, as the client said.' },
      ),
    ),
    userTags: Type.Optional(Type.Unsafe<UserTags>({ type: 'object', description: 'As the client said.' })),
    profiles: Type.Array(ref(ProfileSchema)),
    parentId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The stream this session belongs to. Absent on a stream.' }),
    ),
    isActive: Type.Boolean({ description: 'Whether media is coming in now.' }),
    lastSeen: Type.Integer({ description: `${MILLISECONDS} when media last came in; 0 = never.` }),
    lastTerminatedAt: Type.Optional(
      Type.Integer({ description: `${MILLISECONDS} when its publisher was last cut by the API.` }),
    ),
    suspended: Type.Boolean({ description: 'Whether publishers and viewers are refused.' }),
    record: Type.Boolean({
      description: 'Whether its sessions are to be recorded. Recording itself is not there yet.',
    }),
    multistream: Type.Object({ targets: Type.Array(Type.Object({})) }, { description: 'Always empty for now.' }),
    ...healthFields,
    health: Type.Optional(ref(HealthSchema)),
  },
  {
    $id: 'Stream',
    examples: [...STREAM_EXAMPLES],
  },
);

/**
 * A stream as its owner sees it.
 */

import type { UserTags } from '#domain/stream.ts';
import { Type } from '#lib/schema.ts';
import { HEALTH, HealthSchema } from './health.ts';
import { PlaybackPolicySchema } from './playback-policy.ts';
import { ProfileSchema } from './profile.ts';
import { ref } from './ref.ts';
import { PLAYBACK_ID, STREAM_ID, STREAM_KEY, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

/** The health of a stream in short. Sessions have the same fields. */
export const healthFields = {
  isHealthy: Type.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description: 'Whether the broadcast has no issues. null while no media is coming in.',
  }),
  issues: Type.Unsafe<string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Why the broadcast is unhealthy, in sentences for people. null while no media is coming in.',
  }),
  ingestRate: Type.Optional(
    Type.Integer({ description: 'Measured bytes per second from the publisher. Absent while no media is coming in.' }),
  ),
  outgoingRate: Type.Optional(
    Type.Integer({
      description: 'Measured bytes per second of all renditions but the source. Absent while no media is coming in.',
    }),
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

/** Examples of an idle and a live stream, also used by other schemas. */
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

/** A stream, or one of its sessions in the same form, with `parentId` and without `streamKey`. */
export const StreamSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: Type.Literal('stream', { type: 'string' }),
    name: Type.String(),
    userId: Type.String({ format: 'uuid', description: 'The id of the user that the stream belongs to.' }),
    createdAt: Type.Integer({ description: `When the stream was created, in ${MILLISECONDS}.` }),
    streamKey: Type.Optional(
      Type.String({
        description:
          'The secret to publish with, as rtmp://host/live/<streamKey>. Absent in sessions, and in answers to API keys whose rules do not allow `publish`.',
      }),
    ),
    playbackId: Type.String({
      description: 'The public id with which viewers watch, as /hls/<playbackId>/index.m3u8.',
    }),
    createdByTokenName: Type.String({ description: 'The name that the API key had when it created the stream.' }),
    creatorId: Type.Optional(
      Type.Object(
        { type: Type.Literal('unverified', { type: 'string' }), value: Type.String() },
        { description: 'The creator of the stream, as the client named it. Millrace does not verify it.' },
      ),
    ),
    userTags: Type.Optional(
      Type.Unsafe<UserTags>({
        type: 'object',
        description: 'Data that the client stored with the stream. Millrace does not interpret it.',
      }),
    ),
    playbackPolicy: Type.Optional(ref(PlaybackPolicySchema)),
    profiles: Type.Array(ref(ProfileSchema)),
    parentId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The id of the stream that this session belongs to. Absent on a stream.',
      }),
    ),
    isActive: Type.Boolean({ description: 'Whether media is coming in now.' }),
    lastSeen: Type.Integer({ description: `When media was last received, in ${MILLISECONDS}. 0 means never.` }),
    lastTerminatedAt: Type.Optional(
      Type.Integer({ description: `When the API last disconnected its publisher, in ${MILLISECONDS}.` }),
    ),
    suspended: Type.Boolean({ description: 'Whether publishers and viewers are refused.' }),
    record: Type.Boolean({
      description: 'Whether the sessions of the stream are recorded. A change applies to sessions that begin after it.',
    }),
    multistream: Type.Object(
      { targets: Type.Array(Type.Object({})) },
      { description: 'Always empty: multistream targets are not supported yet.' },
    ),
    ...healthFields,
    health: Type.Optional(ref(HealthSchema)),
  },
  {
    $id: 'Stream',
    examples: [...STREAM_EXAMPLES],
  },
);

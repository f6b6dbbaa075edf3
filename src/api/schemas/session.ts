/**
 * A session as the owner of its stream sees it.
 */

import { END_REASONS, type EndReason, SESSION_PHASES, type SessionPhase } from '#domain/session.ts';
import { Type } from '#lib/schema.ts';
import { HEALTH, HealthSchema } from './health.ts';
import { ProfileSchema } from './profile.ts';
import { ref } from './ref.ts';
import { PLAYBACK_ID, SESSION_ID, STREAM_ID, USER_ID } from './sample-ids.ts';
import { healthFields } from './stream.ts';
import { MILLISECONDS } from './text.ts';

/** What a client can know of a session's recording. */
export const RECORDING_STATUSES = ['waiting', 'ready', 'failed', 'deleted', 'none'] as const;
/** One of {@link RECORDING_STATUSES}. */
export type RecordingStatus = (typeof RECORDING_STATUSES)[number];

const bytes = (what: string) => Type.Integer({ description: `Bytes of ${what}.` });
const segments = (what: string) => Type.Integer({ description: `Segments of ${what}.` });
const seconds = (what: string) => Type.Number({ description: `Seconds of ${what}.` });
const SOURCE = 'the source rendition';
const TRANSCODED = 'all other renditions together';

const ENDED = {
  id: SESSION_ID,
  kind: 'session',
  parentId: STREAM_ID,
  playbackId: PLAYBACK_ID,
  name: 'my first stream',
  userId: USER_ID,
  createdAt: 1_795_175_117_402,
  lastSeen: 1_795_178_717_391,
  phase: 'ended',
  isActive: false,
  endedAt: 1_795_178_717_402,
  endReason: 'unpublished',
  duration: 3600,
  codecs: ['avc1.640028', 'mp4a.40.2'],
  profiles: [{ name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 }],
  record: false,
  sourceBytes: 2_308_500_000,
  sourceSegments: 1800,
  sourceSegmentsDuration: 3599.98,
  transcodedBytes: 891_900_000,
  transcodedSegments: 1800,
  transcodedSegmentsDuration: 3599.9,
  viewers: 0,
  peakViewers: 212,
  isHealthy: null,
  issues: null,
} as const;
const { endedAt: _, endReason: __, ...BEGUN } = ENDED;

/** Examples of an ended and a live session, also used by other schemas. */
export const SESSION_EXAMPLES = [
  ENDED,
  {
    ...BEGUN,
    lastSeen: 1_795_175_217_391,
    phase: 'live',
    isActive: true,
    duration: 99.99,
    sourceBytes: 64_125_000,
    sourceSegments: 49,
    sourceSegmentsDuration: 98.2,
    transcodedBytes: 24_775_000,
    transcodedSegments: 49,
    transcodedSegmentsDuration: 98,
    viewers: 3,
    peakViewers: 17,
    isHealthy: false,
    issues: ['keyframe every 9.6 s; set the encoder to 2 s'],
    ingestRate: 641_250,
    outgoingRate: 247_750,
    health: HEALTH,
  },
] as const;

/** One publish of a stream. */
export const SessionSchema = Type.Object(
  {
    id: Type.String({
      format: 'uuid',
      description: 'The id of the session. It can also be used in `GET /stream/<id>`.',
    }),
    kind: Type.Literal('session', { type: 'string' }),
    parentId: Type.String({
      format: 'uuid',
      description: 'The id of the stream, which may have been deleted since.',
    }),
    playbackId: Type.String({ description: 'The playback id of the stream.' }),
    name: Type.String({ description: 'The name of the stream when the session began.' }),
    userId: Type.String({ format: 'uuid', description: 'The id of the user that the session belongs to.' }),
    createdAt: Type.Integer({ description: `When the session began, in ${MILLISECONDS}.` }),
    lastSeen: Type.Integer({ description: `When media was last received, in ${MILLISECONDS}. 0 means never.` }),
    phase: Type.Unsafe<SessionPhase>({
      type: 'string',
      enum: SESSION_PHASES,
      description:
        '`starting`: nothing can be played yet. `live`: media is coming in. `reconnecting`: the connection was lost, and the publisher may still come back. `ended`: the session is over.',
    }),
    isActive: Type.Boolean({ description: 'Whether media is coming in now.' }),
    endedAt: Type.Optional(Type.Integer({ description: `When the session ended, in ${MILLISECONDS}.` })),
    endReason: Type.Optional(
      Type.Unsafe<EndReason>({
        type: 'string',
        enum: END_REASONS,
        description: 'Why the session ended. A reason never changes its meaning.',
      }),
    ),
    duration: Type.Number({
      description:
        'Seconds from the beginning of the session to its end, or to now. Times without a publisher are included.',
    }),
    codecs: Type.Array(Type.String(), {
      description: 'The codecs of the received media (RFC 6381). Empty until they are known.',
    }),
    profiles: Type.Array(ref(ProfileSchema), { description: 'The profiles of the stream when the session began.' }),
    record: Type.Boolean({ description: 'Whether the session is recorded.' }),
    recordingStatus: Type.Optional(
      Type.Unsafe<RecordingStatus>({
        type: 'string',
        enum: [...RECORDING_STATUSES],
        description:
          '`waiting`: the recording is running or being completed. `ready`: it is complete. `failed`: it could not be completed, and its asset says why. `deleted`: it was deleted. `none`: nothing was recorded. Absent without `record`.',
      }),
    ),
    assetId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The asset of the recording, which has the id of the session.' }),
    ),
    recordingUrl: Type.Optional(
      Type.String({
        format: 'uri',
        description: 'The HLS playlist of the recording, the same while the session is live and afterwards.',
      }),
    ),
    mp4Url: Type.Optional(
      Type.String({ format: 'uri', description: 'The recording as an MP4, also while the session is live.' }),
    ),
    sourceBytes: bytes(SOURCE),
    sourceSegments: segments(SOURCE),
    sourceSegmentsDuration: seconds(`media of ${SOURCE}`),
    transcodedBytes: bytes(TRANSCODED),
    transcodedSegments: segments(TRANSCODED),
    transcodedSegmentsDuration: seconds(`media of ${TRANSCODED}`),
    viewers: Type.Integer({ description: 'The number of viewers at this moment.' }),
    peakViewers: Type.Integer({ description: 'The largest number of viewers at one time.' }),
    ...healthFields,
    health: Type.Optional(ref(HealthSchema)),
  },
  {
    $id: 'Session',
    examples: [...SESSION_EXAMPLES],
  },
);

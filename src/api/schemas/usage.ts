/**
 * What streams used, and how much they were watched.
 */
import { Type } from '#lib/schema.ts';
import { PLAYBACK_ID, STREAM_ID, USER_ID } from './sample-ids.ts';
import { MILLISECONDS } from './text.ts';

const WATCHED =
  'Minutes that all viewers watched together. Of a live stream, these are the minutes for which viewers were present. Of recordings and clips, they are the minutes of the segments that the servers themselves sent. Segments that a cache in front of the servers or the bucket sent, and MP4s, do not count.';

/** The usage of one span of time. */
export const UsageSumSchema = Type.Object(
  {
    from: Type.Integer({ description: `When the hour, day or week (in UTC) begins, in ${MILLISECONDS}.` }),
    streamId: Type.Optional(Type.String({ format: 'uuid', description: 'Present with `by=stream`.' })),
    playbackId: Type.Optional(Type.String({ description: 'Present with `by=stream`.' })),
    userId: Type.Optional(Type.String({ format: 'uuid', description: 'Present with `by=stream` and `by=user`.' })),
    ingestMinutes: Type.Number({ description: 'Minutes of media received.' }),
    ingestBytes: Type.Integer(),
    transcodedMinutes: Type.Number({ description: 'Minutes of media of all renditions that were made.' }),
    transcodedBytes: Type.Integer(),
    deliveredBytes: Type.Integer({
      description:
        'Bytes of media that the servers sent: of live segments and parts, and of recordings, clips and their MP4s. Bytes that were sent by a cache in front of them, or by the bucket, are not included.',
    }),
    views: Type.Integer({
      description:
        'How many viewers began to watch the stream, or one of its recordings and clips. One that comes back after more than 10 seconds counts again.',
    }),
    watchedMinutes: Type.Number({ description: WATCHED }),
  },
  {
    $id: 'UsageSum',
    examples: [
      {
        from: 1_795_132_800_000,
        streamId: STREAM_ID,
        playbackId: PLAYBACK_ID,
        userId: USER_ID,
        ingestMinutes: 61.5,
        ingestBytes: 2_306_250_000,
        transcodedMinutes: 246,
        transcodedBytes: 2_601_450_000,
        deliveredBytes: 98_765_432_100,
        views: 214,
        watchedMinutes: 7311.2,
      },
    ],
  },
);

/** The sum of usage in the form of the reference service. */
export const UsageMetricSchema = Type.Object(
  {
    UserID: Type.String({ format: 'uuid' }),
    DeliveryUsageMins: Type.Number({ description: WATCHED }),
    TotalUsageMins: Type.Number({ description: 'Minutes of media of all renditions that were made.' }),
    StorageUsageMins: Type.Optional(
      Type.Number({
        description:
          'Minutes of media in the recordings that are stored now, whatever `from` and `to` are. Absent with `all`.',
      }),
    ),
  },
  {
    $id: 'UsageMetric',
    examples: [{ UserID: USER_ID, DeliveryUsageMins: 7311.2, TotalUsageMins: 246, StorageUsageMins: 0 }],
  },
);

/** Views of a span of time. */
export const ViewershipMetricSchema = Type.Object(
  {
    playbackId: Type.Optional(Type.String()),
    timestamp: Type.Optional(
      Type.Integer({ description: `When the span begins, in ${MILLISECONDS}. Present with \`timeStep\`.` }),
    ),
    viewCount: Type.Integer({ description: 'How many viewers began to watch, replays included.' }),
    playtimeMins: Type.Number({ description: WATCHED }),
  },
  {
    $id: 'ViewershipMetric',
    examples: [{ playbackId: PLAYBACK_ID, timestamp: 1_795_132_800_000, viewCount: 214, playtimeMins: 7311.2 }],
  },
);

/** All views of a playback id. */
export const TotalViewsSchema = Type.Object(
  {
    playbackId: Type.String(),
    viewCount: Type.Integer({ description: 'How many viewers began to watch, replays included.' }),
    playtimeMins: Type.Number({ description: WATCHED }),
  },
  { $id: 'TotalViews', examples: [{ playbackId: PLAYBACK_ID, viewCount: 214, playtimeMins: 7311.2 }] },
);

/**
 * Settings of `hls`.
 */
import { integer } from '#lib/setting.ts';

/** How long segments and playlists are, and how much memory media may take. */
export const hlsSettings = {
  targetDurationS: integer(
    'SEGMENT_TARGET_DURATION_S',
    '2',
    'Longest segment in seconds (EXT-X-TARGETDURATION); the publisher should send a keyframe at least as often. Players without low latency are three times as late',
    { min: 2, max: 10 },
  ),
  windowS: integer('PLAYLIST_WINDOW_S', '36', 'Content a live playlist lists, in seconds', { min: 12, max: 3600 }),
  mediaMemoryMib: integer('MEDIA_MEMORY_MIB', '2048', 'Memory for the media of all sessions together, in MiB', {
    min: 16,
    max: 1_048_576,
  }),
} as const;

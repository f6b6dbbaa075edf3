/**
 * Settings of `hls`.
 */
import { integer } from '#lib/setting.ts';

/** The settings for the length of segments and playlists, and for the memory of media. */
export const hlsSettings = {
  targetDurationS: integer(
    'SEGMENT_TARGET_DURATION_S',
    '2',
    'Longest segment in seconds (EXT-X-TARGETDURATION); the publisher should send a keyframe at least as often. Players without low latency lag by three times this',
    { min: 2, max: 10 },
  ),
  windowS: integer(
    'PLAYLIST_WINDOW_S',
    '36',
    'Media listed by a live playlist, in seconds. Up to a fourth more may be listed',
    { min: 12, max: 3600 },
  ),
  mediaMemoryMib: integer('MEDIA_MEMORY_MIB', '2048', 'Memory for the media of all sessions together, in MiB', {
    min: 16,
    max: 1_048_576,
  }),
} as const;

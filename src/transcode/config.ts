/**
 * Settings of `transcode`.
 */
import { choice, integer, type SettingValues } from '#lib/setting.ts';

/** The presets of x264, fastest first. */
export const PRESETS = ['ultrafast', 'superfast', 'veryfast', 'faster', 'fast', 'medium', 'slow'] as const;

/** The settings of transcoding that an operator may change. */
export const transcodeSettings = {
  preset: choice(
    'TRANSCODE_PRESET',
    'veryfast',
    'Speed of the encoders: a slower preset looks better at the same bitrate and costs more CPU',
    PRESETS,
  ),
  threads: integer(
    'TRANSCODE_THREADS',
    '1',
    'Threads of each encoder. One costs the least CPU. Each further thread adds a frame of delay and lets one stream use more cores',
    { min: 1, max: 16 },
  ),
  maxTranscodes: integer(
    'TRANSCODE_MAX',
    '32',
    'Streams transcoded at the same time. Further streams have only the source rendition until another stream ends',
    { min: 0, max: 10_000 },
  ),
  memoryMib: integer(
    'TRANSCODE_MEMORY_MIB',
    '1280',
    'Memory that one transcoder process may use, in MiB. A process that uses more is replaced; on Linux with `prlimit` the kernel enforces the limit. A source of 4096x2304 with renditions up to 2160p uses 900 MiB',
    { min: 256, max: 65_536 },
  ),
} as const;

/** The values of the settings. */
export type TranscodeSettings = SettingValues<typeof transcodeSettings>;

/**
 * Settings of `recording`.
 */
import { choice, integer, type SettingValues, text } from '#lib/setting.ts';

/** The settings of recordings that an operator may change. */
export const recordingSettings = {
  dir: text(
    'RECORDINGS_DIR',
    undefined,
    'Folder of recordings. With a bucket, it holds only recent media. By default it is "recordings" in the data folder',
  ),
  volumeS: integer(
    'RECORDING_VOLUME_S',
    '60',
    'Seconds of media in each file of a recording. With a bucket, a machine that is lost takes about this much media with it',
    { min: 10, max: 600 },
  ),
  syncS: integer(
    'RECORDING_SYNC_S',
    '2',
    'Interval in seconds at which recorded media is flushed to the disk. A power failure loses about this much; 0 = the operating system decides',
    { min: 0, max: 60 },
  ),
  renditions: choice(
    'RECORDING_RENDITIONS',
    'all',
    'Renditions that are recorded: all, or only the source with its audio',
    ['all', 'source'],
  ),
  maxHours: integer(
    'RECORDING_MAX_HOURS',
    '24',
    'Longest recording in hours. A longer one ends there, and the live stream goes on',
    // The index of six renditions with B-frames takes 105 MiB a day, and twice as much at 60 frames a second. A recording ends at 240 MiB.
    { min: 1, max: 48 },
  ),
  retentionDays: integer(
    'RECORDING_RETENTION_DAYS',
    '0',
    'Days that recordings are kept after their end; 0 = forever. A clip, and the media that it shows, stays until the clip is deleted',
    { min: 0, max: 36_500 },
  ),
  minFreeMib: integer(
    'RECORDINGS_MIN_FREE_MIB',
    '2048',
    'Free disk space in MiB below which recording stops. Before it stops, files that are already in the bucket are removed from the disk; 0 = no limit',
    { min: 0, max: 1_000_000_000 },
  ),
  whenFull: choice(
    'RECORDINGS_WHEN_FULL',
    'stop',
    'What to do when the disk space is used up: stop recording until there is more, or delete the oldest recordings',
    ['stop', 'oldest'],
  ),
  publicUrl: {
    name: 'RECORDINGS_PUBLIC_URL',
    fallback: undefined,
    help: 'URL at which a CDN serves the bucket, with its prefix. Playlists of recordings without a playback policy then refer to media there. It must allow all origins (CORS) and ranges',
    parse: parseBaseUrl,
  },
} as const;

/** The values of the settings. */
export type RecordingSettings = SettingValues<typeof recordingSettings>;

function parseBaseUrl(value: string): string {
  const url = URL.parse(value);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new Error('must be a URL such as https://cdn.example.com/recordings');
  }
  return url.href.replace(/\/$/, '');
}

/**
 * Settings of `recording`.
 */
import { choice, integer, type SettingValues, text } from '#lib/setting.ts';

/** The settings of recordings that an operator may change. */
export const recordingSettings = {
  dir: text(
    'RECORDINGS_DIR',
    undefined,
    'Folder of recordings. With an object store it holds only what is new. By default "recordings" in the data folder',
  ),
  volumeS: integer(
    'RECORDING_VOLUME_S',
    '60',
    'Length of the files of a recording in seconds. With an object store, about this much media is lost with the machine',
    { min: 10, max: 600 },
  ),
  syncS: integer(
    'RECORDING_SYNC_S',
    '2',
    'Seconds after which recorded media is durable, so that a power failure loses no more; 0 = left to the system',
    { min: 0, max: 60 },
  ),
  renditions: choice(
    'RECORDING_RENDITIONS',
    'all',
    'Renditions that are recorded: all of them, or the source with its audio',
    ['all', 'source'],
  ),
  maxHours: integer(
    'RECORDING_MAX_HOURS',
    '24',
    'Longest recording in hours. After that it ends, and the live stream goes on',
    { min: 1, max: 168 },
  ),
  retentionDays: integer(
    'RECORDING_RETENTION_DAYS',
    '0',
    'Days that recordings are kept after their end; 0 = forever. Clips stay until they are deleted, with the part of the recording that they show',
    { min: 0, max: 36_500 },
  ),
  minFreeMib: integer(
    'RECORDINGS_MIN_FREE_MIB',
    '2048',
    'Free space of the disk in MiB below which nothing more is recorded. Files that are in the bucket already are removed from the disk before; 0 = no limit',
    { min: 0, max: 1_000_000_000 },
  ),
  whenFull: choice(
    'RECORDINGS_WHEN_FULL',
    'stop',
    'What happens when the free space is used up: recording stops until there is more, or the oldest recordings are deleted',
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

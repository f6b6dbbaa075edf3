/**
 * Quotas: how much of the service one user may use.
 */
import { integer, type SettingValues } from '#lib/setting.ts';

/** The settings for the default quotas, which hold for users to whom an admin has given no others. */
export const quotaSettings = {
  streams: integer('QUOTA_STREAMS', '10000', 'Streams a user may have; 0 = any number', { min: 0, max: 1_000_000_000 }),
  apiKeys: integer('QUOTA_API_KEYS', '100', 'API keys a user may have; 0 = any number', { min: 0, max: 1_000_000 }),
  publishers: integer(
    'QUOTA_PUBLISHERS',
    '50',
    'Publishers of a user at the same time, on each server; 0 = any number',
    {
      min: 0,
      max: 100_000,
    },
  ),
  transcodes: integer(
    'QUOTA_TRANSCODES',
    '16',
    'Sessions of a user transcoded at the same time, on each server; 0 = any number',
    {
      min: 0,
      max: 10_000,
    },
  ),
  ingestBitrateKbps: integer(
    'QUOTA_INGEST_BITRATE_KBPS',
    '50000',
    'Highest bitrate of each publisher of a user, in kbit/s, averaged over some seconds; 0 = any',
    { min: 0, max: 10_000_000 },
  ),
  mediaMemoryMib: integer(
    'QUOTA_MEDIA_MEMORY_MIB',
    '1024',
    'Media memory that the sessions of a user may use together, in MiB, on each server; 0 = any',
    { min: 0, max: 1_048_576 },
  ),
  publishesPerMinute: integer(
    'QUOTA_PUBLISHES_PER_MINUTE',
    '120',
    'Publishes that a user may start in a minute, on each server; 0 = any number',
    { min: 0, max: 1_000_000 },
  ),
  sessions: integer(
    'QUOTA_SESSIONS',
    '10000',
    'Sessions of a user that are kept. When there are more, the oldest ended ones are deleted; 0 = any number',
    { min: 0, max: 1_000_000_000 },
  ),
  clips: integer('QUOTA_CLIPS', '10000', 'Clips a user may have; 0 = any number', { min: 0, max: 1_000_000_000 }),
  recordingGib: integer(
    'QUOTA_RECORDING_GIB',
    '1000',
    'Recordings that a user may keep, in GiB. Above that, running recordings end within a minute, nothing more is recorded, and live streams go on; 0 = any',
    { min: 0, max: 1_000_000_000 },
  ),
  viewers: integer(
    'QUOTA_VIEWERS',
    '10000',
    'Viewers of the streams of a user at the same time, on each server; 0 = any number',
    {
      min: 0,
      max: 100_000_000,
    },
  ),
  webhooks: integer('QUOTA_WEBHOOKS', '50', 'Webhooks a user may have; 0 = any number', { min: 0, max: 100_000 }),
  eventStreams: integer(
    'QUOTA_EVENT_STREAMS',
    '50',
    'Event streams (`GET /event/stream`) a user may hold open at the same time, on each server; 0 = any number',
    { min: 0, max: 100_000 },
  ),
  requestsPerMinute: integer(
    'QUOTA_REQUESTS_PER_MINUTE',
    '12000',
    'API requests a user may make in a minute with all keys together, on each server; 0 = any number',
    { min: 0, max: 100_000_000 },
  ),
} as const;

/** The limits of one user; 0 = no limit. */
export type Quotas = SettingValues<typeof quotaSettings>;
/** The name of a quota. */
export type QuotaName = keyof Quotas;
/** Changes to the quotas of a user. Quotas that are not named stay as they are, and null resets one to the default. */
export type QuotaChange = { readonly [Name in QuotaName]?: number | null };
/** The names of all quotas, in the order in which they are shown. */
export const QUOTA_NAMES = Object.keys(quotaSettings) as readonly QuotaName[];

/** The largest value of any quota. It is larger than anybody needs. */
export const MAX_QUOTA = 1_000_000_000;

const NO_LIMITS = Object.fromEntries(QUOTA_NAMES.map((name) => [name, 0])) as Quotas;

/**
 * The quotas of a user: those that an admin set, and the defaults for the rest. Admins run the service, so by default they have no limits.
 * @param defaults from the settings
 */
export function quotasOf(
  user: { readonly isAdmin: boolean; readonly quotas: Partial<Quotas> },
  defaults: Quotas,
): Quotas {
  return { ...(user.isAdmin ? NO_LIMITS : defaults), ...user.quotas };
}

/** The quotas to store for a new user: those that the change sets. Those that it resets to the default (null) are left out. */
export function ownQuotas(change: QuotaChange): Partial<Quotas> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
}

/**
 * Settings of live sessions.
 */
import { integer, type SettingValues } from '#lib/setting.ts';

/** What an operator may set. */
export const liveSettings = {
  maxPublishers: integer('MAX_PUBLISHERS', '200', 'Publishers accepted at the same time', { min: 1, max: 100_000 }),
  maxViewers: integer('MAX_VIEWERS', '5000', 'Viewers served at the same time; more are refused with 503', {
    min: 1,
    max: 1_000_000,
  }),
  reconnectWindowS: integer(
    'RECONNECT_WINDOW_S',
    '30',
    'Seconds a session waits for a publisher whose connection was lost',
    { min: 1, max: 3600 },
  ),
};

/** Their values. */
export type LiveSettings = SettingValues<typeof liveSettings>;

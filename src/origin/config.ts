/**
 * The origin's settings.
 */
import { integer, type SettingValues } from '#lib/setting.ts';

/** What the origin can be told. */
export const originSettings = {
  maxViewers: integer('MAX_VIEWERS', '5000', 'viewers served at once; more are refused with 503', {
    min: 1,
    max: 1_000_000,
  }),
  maxHeldRequests: integer(
    'MAX_HELD_REQUESTS',
    '30000',
    'requests waiting at once for a playlist or part yet to come (a low-latency viewer holds two to four); more get 503',
    { min: 1, max: 1_000_000 },
  ),
};

/** The values of {@link originSettings}. */
export type OriginSettings = SettingValues<typeof originSettings>;

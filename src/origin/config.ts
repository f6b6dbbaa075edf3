/**
 * The origin's settings.
 */
import { integer, type SettingValues } from '#lib/setting.ts';

/** What the origin can be told. */
export const originSettings = {
  maxHeldRequests: integer(
    'MAX_HELD_REQUESTS',
    '30000',
    'Requests waiting at the same time for a playlist or part yet to come; a low-latency viewer holds two to four. Beyond that the network with the most waiting requests loses its oldest',
    { min: 1, max: 1_000_000 },
  ),
};

/** The values of {@link originSettings}. */
export type OriginSettings = SettingValues<typeof originSettings>;

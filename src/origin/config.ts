/**
 * The origin's settings.
 */
import { choice, integer, type SettingValues } from '#lib/setting.ts';

/** The settings of the origin that an operator may change. */
export const originSettings = {
  maxHeldRequests: integer(
    'MAX_HELD_REQUESTS',
    '30000',
    'Requests that may wait at the same time for a playlist or part that does not exist yet; a low-latency viewer has two to four. When there are more, the network with the most waiting requests loses its oldest',
    { min: 1, max: 1_000_000 },
  ),
  dvr: choice(
    'DVR',
    'on',
    'Whether viewers may seek back in a stream while it is recorded. With off, only the owner may do so, with an API key or an owner token, until the recording has ended',
    ['on', 'off'],
  ),
};

/** The values of {@link originSettings}. */
export type OriginSettings = SettingValues<typeof originSettings>;

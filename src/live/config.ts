/**
 * Settings of live sessions.
 */
import { originOf } from '#lib/origin-of.ts';
import { integer, type SettingValues } from '#lib/setting.ts';

/** The settings of live sessions that an operator may change. */
export const liveSettings = {
  nodeUrl: {
    name: 'NODE_URL',
    fallback: undefined,
    help: 'URL at which other servers on the same PostgreSQL reach this one, such as http://10.0.0.5:8080. By default it is made from the address that the server listens on, or from the host name',
    parse: parseOrigin,
  },
  maxPublishers: integer('MAX_PUBLISHERS', '200', 'Publishers accepted at the same time', { min: 1, max: 100_000 }),
  maxViewers: integer(
    'MAX_VIEWERS',
    '5000',
    'Viewers served at the same time. At the limit, a new viewer takes the place of one from the network that has the most, or gets 503',
    {
      min: 1,
      max: 1_000_000,
    },
  ),
  reconnectWindowS: integer(
    'RECONNECT_WINDOW_S',
    '30',
    'Seconds that a session waits for a publisher whose connection was lost',
    { min: 1, max: 3600 },
  ),
};

/** The values of the settings. */
export type LiveSettings = SettingValues<typeof liveSettings>;

function parseOrigin(value: string): string {
  const origin = originOf(value);
  if (origin === undefined) throw new Error('must be a scheme and a host only, such as http://10.0.0.5:8080');
  return origin;
}

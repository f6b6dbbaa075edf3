/**
 * Settings of the store.
 */
import { Secret } from '#domain/secret.ts';
import { integer, type SettingValues, text } from '#lib/setting.ts';

const DAYS = { min: 0, max: 36_500 };

/** The settings of the store that an operator may change. */
export const storeSettings = {
  dataDir: text(
    'DATA_DIR',
    'data',
    'Folder of the data that must survive a restart. It is created when it is missing. Only one server at a time may use it',
  ),
  databaseUrl: {
    name: 'DATABASE_URL',
    fallback: undefined,
    help: 'URL of the PostgreSQL database that keeps the store and that several servers may share (postgres://user:password@host:5432/database). When it is not set, the store is SQLite in the data folder',
    parse: parseDatabaseUrl,
    secret: true,
  },
  sessionRetentionDays: integer(
    'SESSION_RETENTION_DAYS',
    '365',
    'Days that sessions are kept after their end; 0 = forever',
    DAYS,
  ),
  auditRetentionDays: integer(
    'AUDIT_RETENTION_DAYS',
    '365',
    'Days that entries of the audit log are kept; 0 = forever',
    DAYS,
  ),
  eventRetentionDays: integer(
    'EVENT_RETENTION_DAYS',
    '30',
    'Days for which events are kept, and can be read and delivered again',
    { min: 4, max: 36_500 },
  ),
  webhookLogRetentionDays: integer(
    'WEBHOOK_LOG_RETENTION_DAYS',
    '7',
    'Days for which the logs of webhooks keep the requests that were sent',
    { min: 1, max: 36_500 },
  ),
} as const;

/** The values of the settings. */
export type StoreSettings = SettingValues<typeof storeSettings>;

function parseDatabaseUrl(value: string): Secret {
  const url = URL.parse(value);
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol) || url.pathname.length < 2) {
    throw new Error(
      'must be the address of a PostgreSQL database, such as postgres://user:password@host:5432/database',
    );
  }
  return new Secret(value);
}

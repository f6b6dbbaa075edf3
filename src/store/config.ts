/**
 * Settings of the store.
 */
import { Secret } from '#domain/secret.ts';
import { integer, type SettingValues, text } from '#lib/setting.ts';

const DAYS = { min: 0, max: 36_500 };

/** What an operator may set. */
export const storeSettings = {
  dataDir: text('DATA_DIR', 'data', 'Folder for what must last; made when missing, used by one server at a time'),
  databaseUrl: {
    name: 'DATABASE_URL',
    fallback: undefined,
    help: 'PostgreSQL that keeps the store, shared by any number of servers (postgres://user:password@host:5432/database); SQLite in the data folder when not set',
    parse: parseDatabaseUrl,
    secret: true,
  },
  sessionRetentionDays: integer(
    'SESSION_RETENTION_DAYS',
    '365',
    'Days that sessions are kept after their end; 0 = for ever',
    DAYS,
  ),
  auditRetentionDays: integer(
    'AUDIT_RETENTION_DAYS',
    '365',
    'Days that entries of the audit log are kept; 0 = for ever',
    DAYS,
  ),
} as const;

/** Their values. */
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

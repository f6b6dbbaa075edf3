/**
 * The migrations in their order, and the function that applies them. A released migration never changes.
 */
import { type Kysely, sql } from 'kysely';
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration';
import { usersKeysStreamsSessions } from './migrations/0001-users-keys-streams-sessions.ts';
import { manage } from './migrations/0002-manage.ts';
import { shares } from './migrations/0003-shares.ts';
import { events } from './migrations/0004-events.ts';
import { nameSearch } from './migrations/0005-name-search.ts';
import { playbackRights } from './migrations/0006-playback-rights.ts';
import { assets } from './migrations/0007-assets.ts';
import { browserSessions } from './migrations/0008-browser-sessions.ts';
import { healthSamplesAndAttempts } from './migrations/0009-health-samples-and-attempts.ts';
import { revokedKeys } from './migrations/0010-revoked-keys.ts';
import { deletedStreams } from './migrations/0011-deleted-streams.ts';
import { waitingDeliveries } from './migrations/0012-waiting-deliveries.ts';
import { deadDeliveries } from './migrations/0013-dead-deliveries.ts';
import { samplesWithoutSession } from './migrations/0014-samples-without-session.ts';
import { recordingsOfDeletedStreams } from './migrations/0015-recordings-of-deleted-streams.ts';
import { webhookBounds } from './migrations/0016-webhook-bounds.ts';

/** Every migration by its name. Names sort in the order in which migrations are applied. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-users-keys-streams-sessions': usersKeysStreamsSessions,
  '0002-manage': manage,
  '0003-shares': shares,
  '0004-events': events,
  '0005-name-search': nameSearch,
  '0006-playback-rights': playbackRights,
  '0007-assets': assets,
  '0008-browser-sessions': browserSessions,
  '0009-health-samples-and-attempts': healthSamplesAndAttempts,
  '0010-revoked-keys': revokedKeys,
  '0011-deleted-streams': deletedStreams,
  '0012-waiting-deliveries': waitingDeliveries,
  '0013-dead-deliveries': deadDeliveries,
  '0014-samples-without-session': samplesWithoutSession,
  '0015-recordings-of-deleted-streams': recordingsOfDeletedStreams,
  '0016-webhook-bounds': webhookBounds,
};

/** How a database's schema compares with this program. */
export type SchemaState =
  | { readonly state: 'current' }
  | { readonly state: 'older' } // also an empty database
  | { readonly state: 'newer'; readonly migration: string }; // it has a migration that this program does not know

/** The names of the migrations that a database has, including those that this program does not know. Only reads. */
export async function migrationsDone(db: Kysely<never>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db);
  return rows.map(({ name }) => name).toSorted();
}

/** Compares the migrations of a database with {@link MIGRATIONS}. Only reads. */
export async function schemaState(db: Kysely<never>): Promise<SchemaState> {
  const done = await migrationsDone(db);
  const unknown = done.find((name) => !(name in MIGRATIONS));
  if (unknown !== undefined) return { state: 'newer', migration: unknown };
  return { state: Object.keys(MIGRATIONS).every((name) => done.includes(name)) ? 'current' : 'older' };
}

/**
 * Applies the missing migrations. The caller runs this in one transaction if the database can.
 * @throws the error of a migration
 */
export async function applyMigrations(db: Kysely<never>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/**
 * The migrations in their order, and how a database is brought up to date. A migration that was released never changes.
 */
import { type Kysely, sql } from 'kysely';
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration';
import { usersKeysStreamsSessions } from './migrations/0001-users-keys-streams-sessions.ts';
import { manage } from './migrations/0002-manage.ts';
import { shares } from './migrations/0003-shares.ts';
import { events } from './migrations/0004-events.ts';
import { nameSearch } from './migrations/0005-name-search.ts';
import { playbackRights } from './migrations/0006-playback-rights.ts';

/** Every migration by its name; names sort in the order they are run. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-users-keys-streams-sessions': usersKeysStreamsSessions,
  '0002-manage': manage,
  '0003-shares': shares,
  '0004-events': events,
  '0005-name-search': nameSearch,
  '0006-playback-rights': playbackRights,
};

/** How a database's schema compares with this program. */
export type SchemaState =
  | { readonly state: 'current' }
  | { readonly state: 'older' } // empty, too
  | { readonly state: 'newer'; readonly migration: string }; // has a migration this program does not know

/** Names of the migrations a database has had, also of those this program does not know; only reads. */
export async function migrationsDone(db: Kysely<never>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db);
  return rows.map(({ name }) => name).toSorted();
}

/** Compares a database with {@link MIGRATIONS}; only reads. */
export async function schemaState(db: Kysely<never>): Promise<SchemaState> {
  const done = await migrationsDone(db);
  const unknown = done.find((name) => !(name in MIGRATIONS));
  if (unknown !== undefined) return { state: 'newer', migration: unknown };
  return { state: Object.keys(MIGRATIONS).every((name) => done.includes(name)) ? 'current' : 'older' };
}

/**
 * Runs the migrations a database has not had yet. Whoever calls this makes it one transaction where the database can.
 * @throws what a migration throws
 */
export async function applyMigrations(db: Kysely<never>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

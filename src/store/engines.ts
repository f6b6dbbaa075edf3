/**
 * The databases the store can be kept in, by name. A new one is a file in `engines/` and a line here; the suite in
 * `store.contract.ts` says whether it is one.
 */
import type { Secret } from '#domain/secret.ts';
import type { InspectEngine, OpenEngine } from './engine.ts';

/** How each is opened. Loaded only then: who keeps a store in SQLite needs no memory for PostgreSQL's client. */
export const ENGINES = {
  sqlite: async (options) => (await import('./engines/sqlite.ts')).openSqlite(options),
  postgres: async (options) => (await import('./engines/postgres.ts')).openPostgres(options),
} as const satisfies Record<string, OpenEngine>;

/** How each is looked at without being changed. */
export const INSPECTIONS = {
  sqlite: async (options) => (await import('./engines/sqlite/inspect.ts')).inspectSqlite(options),
  postgres: async (options) => (await import('./engines/postgres/inspect.ts')).inspectPostgres(options),
} as const satisfies Record<keyof typeof ENGINES, InspectEngine>;

/** A name of {@link ENGINES}. */
export type EngineName = keyof typeof ENGINES;

/** Which one keeps the store: the database that is named, or SQLite in the data folder. */
export const engineNamed = (databaseUrl: Secret | undefined): EngineName =>
  databaseUrl === undefined ? 'sqlite' : 'postgres';

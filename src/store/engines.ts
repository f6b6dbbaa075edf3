/**
 * The database engines by name. A new one is a file in `engines/` and a line in this file. The suite in `store.contract.ts` checks it.
 */
import type { Secret } from '#domain/secret.ts';
import type { InspectEngine, OpenEngine } from './engine.ts';

/** Opens each engine. Its module is loaded only then, so that a store in SQLite needs no memory for the PostgreSQL client. */
export const ENGINES = {
  sqlite: async (options) => (await import('./engines/sqlite.ts')).openSqlite(options),
  postgres: async (options) => (await import('./engines/postgres.ts')).openPostgres(options),
} as const satisfies Record<string, OpenEngine>;

/** Inspects each engine's database without changing it. */
export const INSPECTIONS = {
  sqlite: async (options) => (await import('./engines/sqlite/inspect.ts')).inspectSqlite(options),
  postgres: async (options) => (await import('./engines/postgres/inspect.ts')).inspectPostgres(options),
} as const satisfies Record<keyof typeof ENGINES, InspectEngine>;

/** The name of an engine in {@link ENGINES}. */
export type EngineName = keyof typeof ENGINES;

/** The engine that a configuration selects: PostgreSQL if it has a database URL, otherwise SQLite. */
export const engineNamed = (databaseUrl: Secret | undefined): EngineName =>
  databaseUrl === undefined ? 'sqlite' : 'postgres';

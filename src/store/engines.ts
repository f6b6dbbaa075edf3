/**
 * The databases the store can be kept in, by name. A new one is a file in `engines/` and a line here; the suite in
 * `store.contract.ts` says whether it is one.
 */
import type { Secret } from '#domain/secret.ts';
import type { InspectEngine, OpenEngine } from './engine.ts';
import { inspectPostgres } from './engines/postgres/inspect.ts';
import { openPostgres } from './engines/postgres.ts';
import { inspectSqlite } from './engines/sqlite/inspect.ts';
import { openSqlite } from './engines/sqlite.ts';

/** How each is opened. */
export const ENGINES = {
  sqlite: openSqlite,
  postgres: openPostgres,
} as const satisfies Record<string, OpenEngine>;

/** How each is looked at without being changed. */
export const INSPECTIONS = {
  sqlite: inspectSqlite,
  postgres: inspectPostgres,
} as const satisfies Record<keyof typeof ENGINES, InspectEngine>;

/** A name of {@link ENGINES}. */
export type EngineName = keyof typeof ENGINES;

/** Which one keeps the store: the database that is named, or SQLite in the data folder. */
export const engineNamed = (databaseUrl: Secret | undefined): EngineName =>
  databaseUrl === undefined ? 'sqlite' : 'postgres';

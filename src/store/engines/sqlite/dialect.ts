/**
 * Kysely on SQLite: as a compiler that cannot run anything, and on a `node:sqlite` connection for migrations.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { DummyDriver, Kysely, SqliteAdapter, SqliteDialect, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { Database } from '#store/database.ts';
import { bindable } from '#store/engines/bindable.ts';

/** Makes a compiler that builds queries but cannot run them. */
export function sqliteCompiler(): Kysely<Database> {
  return new Kysely({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/**
 * Makes a Kysely that runs queries on a connection, on this thread. The connection belongs to the caller, so do not destroy the returned
 * object.
 */
export function kyselyOn(db: DatabaseSync): Kysely<never> {
  const prepare = (sql: string) => {
    const statement = db.prepare(sql);
    const bound = (parameters: readonly unknown[]) => parameters.map(bindable) as SQLInputValue[];
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => statement.all(...bound(parameters)),
      run: (parameters: readonly unknown[]) => statement.run(...bound(parameters)),
      iterate: (parameters: readonly unknown[]) => statement.iterate(...bound(parameters)),
    };
  };
  return new Kysely({ dialect: new SqliteDialect({ database: { prepare, close: () => {} } }) });
}

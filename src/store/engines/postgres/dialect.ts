/**
 * Kysely on PostgreSQL: as a compiler that cannot run anything, and, for migrations, on one connection. And how PostgreSQL's
 * values are read.
 */
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresIntrospector,
  type PostgresPoolClient,
  PostgresQueryCompiler,
} from 'kysely';
import { type ClientBase, types } from 'pg';
import type { Database } from '#store/database.ts';

/** Builds and compiles queries. */
export function postgresCompiler(): Kysely<Database> {
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/** Runs queries on a connection. It stays the caller's: do not destroy what this returns. */
export function kyselyOn(client: ClientBase): Kysely<never> {
  const query = (sql: string, parameters: readonly unknown[]) => client.query(sql, [...parameters]);
  const connection = { query, release: () => {} } as unknown as PostgresPoolClient;
  const pool = { connect: async () => connection, end: async () => {}, options: {} };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

/**
 * Values as SQLite gives them: every number a number, truth values 0 and 1. `pg` itself gives wide numbers as text, because
 * they may not fit; ours are times and sizes and do.
 */
const PARSERS = new Map<number, (text: string) => number>([
  [types.builtins.INT8, Number],
  [types.builtins.NUMERIC, Number],
  [types.builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
]);

/** For the options of a connection. */
export const typeParsers = {
  getTypeParser: ((oid: number, format?: 'text') =>
    PARSERS.get(oid) ?? types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

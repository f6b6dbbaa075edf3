/**
 * Kysely on PostgreSQL: as a compiler that cannot run anything, and on one connection for migrations. Also the parsers for PostgreSQL's
 * values.
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

/** Makes a compiler that builds queries but cannot run them. */
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

/** Makes a Kysely that runs queries on a connection. The connection belongs to the caller, so do not destroy the returned object. */
export function kyselyOn(client: ClientBase): Kysely<never> {
  const query = (sql: string, parameters: readonly unknown[]) => client.query(sql, [...parameters]);
  const connection = { query, release: () => {} } as unknown as PostgresPoolClient;
  const pool = { connect: async () => connection, end: async () => {}, options: {} };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

/**
 * Parses values to the form in which SQLite gives them: every number as a number, truth values as 0 and 1. By default `pg` gives wide
 * integers as text, because they may not fit into a number. Millrace stores only times and sizes, which fit.
 */
const PARSERS = new Map<number, (text: string) => number>([
  [types.builtins.INT8, Number],
  [types.builtins.NUMERIC, Number],
  [types.builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
]);

/** The value parsers as an option of a connection. */
export const typeParsers = {
  getTypeParser: ((oid: number, format?: 'text') =>
    PARSERS.get(oid) ?? types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/**
 * Counts rows up to a limit, at a cost that depends only on the limit.
 */
import type { Compilable, Kysely, SelectQueryBuilder } from 'kysely';
import type { Database } from '#store/database.ts';

/** Counts the rows of a query up to a limit. */
export function countUpTo<Tables extends keyof Database>(
  db: Kysely<Database>,
  rows: SelectQueryBuilder<Database, Tables, object>,
  limit: number,
): Compilable<{ count: number }> {
  return db.selectFrom(rows.limit(limit).as('counted')).select((eb) => eb.fn.countAll<number>().as('count'));
}

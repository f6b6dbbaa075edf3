/**
 * Counting that costs no more than its limit, however many rows there are.
 */
import type { Compilable, Kysely, SelectQueryBuilder } from 'kysely';
import type { Database } from '#store/database.ts';

/** Counts the rows of a query, but no further than the limit. */
export function countUpTo<Tables extends keyof Database>(
  db: Kysely<Database>,
  rows: SelectQueryBuilder<Database, Tables, object>,
  limit: number,
): Compilable<{ count: number }> {
  return db.selectFrom(rows.limit(limit).as('counted')).select((eb) => eb.fn.countAll<number>().as('count'));
}

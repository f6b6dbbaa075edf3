/**
 * Adds the searchable form of the name to every stream and session, and to the indexes of their lists. A search then reads only the index
 * of one list.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { searchableName } from '#domain/searchable-name.ts';

/** The number of rows changed by one statement. Each row takes two parameters. */
const BATCH = 500;

const TABLES = [
  { table: 'streams', where: sql` where deleted_at is null` },
  { table: 'sessions', where: sql`` },
] as const;

async function up(db: Kysely<unknown>): Promise<void> {
  for (const { table, where } of TABLES) {
    const target = sql.table(table);
    await sql`alter table ${target} add column name_search text not null default ''`.execute(db);
    await sql`update ${target} set name_search = upper(name)`.execute(db);
    await fillOtherAlphabets(db, table);
    for (const [scope, owner] of [
      ['of_user', sql`user_id, `],
      ['of_everyone', sql``],
    ] as const) {
      for (const [order, time] of [
        ['age', sql`created_at`],
        ['last_seen', sql`last_seen`],
      ] as const) {
        const index = sql.ref(`${table}_all_${scope}_by_${order}`);
        await sql`drop index ${index}`.execute(db);
        await sql`create index ${index} on ${target} (${owner}${time}, id, name_search)${where}`.execute(db);
      }
    }
  }
}

/**
 * Converts names that are not ASCII in this program, because databases disagree on their upper case, and in some locales even on that of
 * ASCII.
 */
async function fillOtherAlphabets(db: Kysely<unknown>, table: string): Promise<void> {
  const target = sql.table(table);
  for (let after = ''; ; ) {
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from ${target}
      where id > ${after} and (octet_length(name) <> length(name) or octet_length(name_search) <> length(name_search))
      order by id limit ${sql.lit(BATCH)}`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return;
    const values = sql.join(rows.map(({ id, name }) => sql`(${id}, ${searchableName(name)})`));
    await sql`
      update ${target} set name_search = changed.column2
      from (values ${values}) as changed where ${target}.id = changed.column1`.execute(db);
    after = last.id;
  }
}

/** Adds the searchable names of streams and sessions. */
export const nameSearch: Migration = { up };

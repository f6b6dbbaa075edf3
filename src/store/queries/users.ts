/**
 * Queries on users.
 */
import type { Kysely } from 'kysely';
import type { User } from '#domain/user.ts';
import type { Database, UsersTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';

/** The queries, prepared for one dialect. */
export function userQueries(db: Kysely<Database>) {
  return {
    /** Does nothing when the name is taken. */
    add: prepare((row: UsersTable) =>
      db
        .insertInto('users')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doNothing()),
    ),

    /** As `add`, but only into a store without any API key. */
    addFirst: prepare((row: UsersTable) =>
      db
        .insertInto('users')
        .columns(['id', 'name', 'created_at'])
        .expression(
          db
            .selectNoFrom((eb) => [
              eb.val(row.id).as('id'),
              eb.val(row.name).as('name'),
              // The cast tells PostgreSQL the type of a bare parameter.
              eb.cast<number>(eb.val(row.created_at), 'bigint').as('created_at'),
            ])
            .where((eb) => eb.not(eb.exists(eb.selectFrom('api_keys').select('api_keys.id')))),
        )
        .onConflict((conflict) => conflict.column('name').doNothing()),
    ),

    byName: prepare((args: Pick<UsersTable, 'name'>) =>
      db.selectFrom('users').selectAll().where('name', '=', args.name),
    ),
  };
}

/** The row of a user. */
export function rowOfUser(user: User): UsersTable {
  return { id: user.id, name: user.name, created_at: user.createdAt };
}

/** The user of a row. */
export function userOfRow(row: UsersTable): User {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}

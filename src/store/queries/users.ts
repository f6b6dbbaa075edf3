/**
 * Queries on users.
 */
import type { Kysely, RawBuilder } from 'kysely';
import type { User } from '#domain/user.ts';
import type { Database, UsersTable } from '#store/database.ts';
import type { Engine } from '#store/engine.ts';
import { prepare } from '#store/prepared-query.ts';
import type { UserChange } from '#store/store.ts';
import { newestFirst, type PageArgs } from './lists.ts';

/** The columns that may change on a user. Of the quotas, only those in the JSON text change. */
export type UserChangeRow = Partial<Pick<UsersTable, 'name' | 'is_admin' | 'suspended' | 'quotas'>>;

/**
 * Prepares the queries for one dialect.
 * @param patched makes SQL for a JSON column after a change; see {@link Engine.patched}
 */
export function userQueries(db: Kysely<Database>, patched: Engine['patched']) {
  /** The quotas are merged by the database, so that concurrent changes do not undo each other. */
  const changed = ({ quotas, ...row }: UserChangeRow): UserChangeColumns => ({
    ...row,
    ...(quotas !== undefined && { quotas: patched('quotas', quotas) }),
  });

  return {
    /** Adds a user unless the name is taken. */
    ensure: prepare((row: UsersTable) =>
      db
        .insertInto('users')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doNothing()),
    ),

    /** Like `ensure`, but only in a store without any API key. */
    addFirst: prepare((row: UsersTable) =>
      db
        .insertInto('users')
        .columns(['id', 'name', 'created_at', 'is_admin', 'suspended', 'quotas'])
        .expression(
          db
            .selectNoFrom((eb) => [
              eb.val(row.id).as('id'),
              eb.val(row.name).as('name'),
              // The casts give PostgreSQL the type of a parameter.
              eb.cast<number>(eb.val(row.created_at), 'bigint').as('created_at'),
              eb.cast<number>(eb.val(row.is_admin), 'integer').as('is_admin'),
              eb.cast<number>(eb.val(row.suspended), 'integer').as('suspended'),
              eb.val(row.quotas).as('quotas'),
            ])
            .where((eb) => eb.not(eb.exists(eb.selectFrom('api_keys').select('api_keys.id')))),
        )
        .onConflict((conflict) => conflict.column('name').doNothing()),
    ),

    create: prepare((row: UsersTable) => db.insertInto('users').values(row)),

    get: prepare((args: Pick<UsersTable, 'id'>) => db.selectFrom('users').selectAll().where('id', '=', args.id)),

    /** Users by their ids. @param ids the ids under any keys; always the same number, so that the query is compiled once */
    getMany: prepare((ids: Readonly<Record<string, UsersTable['id']>>) =>
      db.selectFrom('users').selectAll().where('id', 'in', Object.values(ids)),
    ),

    byName: prepare((args: Pick<UsersTable, 'name'>) =>
      db.selectFrom('users').selectAll().where('name', '=', args.name),
    ),

    page: prepare((args: PageArgs) => newestFirst<UsersTable>(db, 'users', [], args)),

    change: prepare(({ id, ...change }: Pick<UsersTable, 'id'> & UserChangeRow) =>
      db
        .updateTable('users')
        .set(Object.keys(change).length > 0 ? changed(change) : { id })
        .where('id', '=', id),
    ),

    /** Locks the admins: until the end of the write nobody else can change who the active admins are. */
    holdAdmins: prepare(() =>
      db
        .updateTable('users')
        .set((eb) => ({ is_admin: eb.ref('is_admin') }))
        .where('is_admin', '=', 1)
        .where('suspended', '=', 0),
    ),

    /** Changes a user unless it is the last active admin. Run `holdAdmins` first in the same write. */
    changeUnlessLastAdmin: prepare(({ id, ...change }: Pick<UsersTable, 'id'> & UserChangeRow) =>
      db
        .updateTable('users')
        .set(changed(change))
        .where('id', '=', id)
        .where((eb) =>
          eb.or([
            eb('is_admin', '=', 0),
            eb('suspended', '=', 1),
            eb.exists(
              eb
                .selectFrom('users as others')
                .select('others.id')
                .where('others.id', '!=', id)
                .where('others.is_admin', '=', 1)
                .where('others.suspended', '=', 0),
            ),
          ]),
        ),
    ),
  };
}

/** The columns of a change, with the quotas as SQL. */
type UserChangeColumns = Omit<UserChangeRow, 'quotas'> & { readonly quotas?: RawBuilder<string> };

/** Makes the row of a user. */
export function rowOfUser(user: User): UsersTable {
  return {
    id: user.id,
    name: user.name,
    created_at: user.createdAt,
    is_admin: user.isAdmin ? 1 : 0,
    suspended: user.suspended ? 1 : 0,
    quotas: JSON.stringify(user.quotas),
  };
}

/** The columns of a change. */
export function rowOfUserChange({ name, isAdmin, suspended, quotas }: UserChange): UserChangeRow {
  return {
    ...(name !== undefined && { name }),
    ...(isAdmin !== undefined && { is_admin: isAdmin ? 1 : 0 }),
    ...(suspended !== undefined && { suspended: suspended ? 1 : 0 }),
    ...(quotas !== undefined && { quotas: JSON.stringify(quotas) }),
  };
}

/** Makes the user from a row. */
export function userOfRow(row: UsersTable): User {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    isAdmin: row.is_admin === 1,
    suspended: row.suspended === 1,
    quotas: JSON.parse(row.quotas) as User['quotas'],
  };
}

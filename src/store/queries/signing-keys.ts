/**
 * Queries on signing keys.
 */
import type { Kysely } from 'kysely';
import type { SigningKey } from '#domain/signing-key.ts';
import type { Database, SigningKeysTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { SigningKeyChange } from '#store/store.ts';
import { countUpTo } from './count-up-to.ts';
import { is, newestFirst, ofUser, type PageArgs } from './lists.ts';

type Columns<Key extends keyof SigningKeysTable> = Pick<SigningKeysTable, Key>;

/** The id of a key, limited to a user unless `user_id` is absent. */
type KeyOfScope = Columns<'id'> & Partial<Columns<'user_id'>>;

/** Prepares the queries for one dialect. */
export function signingKeyQueries(db: Kysely<Database>) {
  return {
    create: prepare((row: SigningKeysTable) => db.insertInto('signing_keys').values(row)),

    get: prepare((args: KeyOfScope) =>
      db.selectFrom('signing_keys').selectAll().where('id', '=', args.id).where(ofUser(args)),
    ),

    /** Counts a user's keys up to a limit. */
    countUpTo: prepare((args: Columns<'user_id'> & { limit: number }) =>
      countUpTo(db, db.selectFrom('signing_keys').select('id').where('user_id', '=', args.user_id), args.limit),
    ),

    pageOfUser: prepare((args: Columns<'user_id'> & PageArgs) =>
      newestFirst<SigningKeysTable>(db, 'signing_keys', [is('user_id', args.user_id)], args),
    ),

    change: prepare(({ id, user_id, ...row }: KeyOfScope & Partial<Columns<'name' | 'disabled'>>) =>
      db
        .updateTable('signing_keys')
        // A change without fields still counts as a change: it is answered and logged.
        .set(Object.keys(row).length > 0 ? row : { id })
        .where('id', '=', id)
        .where(ofUser({ user_id })),
    ),

    delete: prepare((args: KeyOfScope) => db.deleteFrom('signing_keys').where('id', '=', args.id).where(ofUser(args))),
  };
}

/** Makes the row of a key. */
export function rowOfSigningKey({ id, userId, name, createdAt, publicKey, disabled }: SigningKey): SigningKeysTable {
  return { id, user_id: userId, name, created_at: createdAt, public_key: publicKey, disabled: disabled ? 1 : 0 };
}

/** The columns of a change. */
export function rowOfSigningKeyChange({ name, disabled }: SigningKeyChange) {
  return {
    ...(name !== undefined && { name }),
    ...(disabled !== undefined && { disabled: disabled ? (1 as const) : (0 as const) }),
  };
}

/** Makes the key from a row. */
export function signingKeyOfRow(row: SigningKeysTable): SigningKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    createdAt: row.created_at,
    publicKey: row.public_key,
    disabled: row.disabled === 1,
  };
}

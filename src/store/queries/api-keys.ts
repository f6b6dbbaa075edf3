/**
 * Queries on API keys.
 */
import { type Kysely, sql } from 'kysely';
import type { ApiKey, User } from '#domain/user.ts';
import type { ApiKeysTable, Database, UsersTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import { countUpTo } from './count-up-to.ts';
import { is, newestFirst, ofUser, type PageArgs } from './lists.ts';
import { userOfRow } from './users.ts';

/** The columns of a key's user, in the same row as those of the key. */
export interface OwnerRow {
  user_name: UsersTable['name'];
  user_created_at: UsersTable['created_at'];
  user_is_admin: UsersTable['is_admin'];
  user_suspended: UsersTable['suspended'];
  user_quotas: UsersTable['quotas'];
}

/** Selects the columns of {@link OwnerRow}. */
export const OWNER_COLUMNS = [
  'users.name as user_name',
  'users.created_at as user_created_at',
  'users.is_admin as user_is_admin',
  'users.suspended as user_suspended',
  'users.quotas as user_quotas',
] as const;

type Columns<Key extends keyof ApiKeysTable> = Pick<ApiKeysTable, Key>;

/** Prepares the queries for one dialect. */
export function apiKeyQueries(db: Kysely<Database>) {
  const unrevoked = db.selectFrom('api_keys').selectAll('api_keys').where('revoked_at', 'is', null);
  return {
    create: prepare((row: ApiKeysTable) => db.insertInto('api_keys').values(row)),

    /**
     * Adds the key to the user with that name, if the store has no key yet. It uses the name, because the user may exist with another id.
     */
    createFirst: prepare((row: Omit<ApiKeysTable, 'user_id' | 'revoked_at'> & Pick<OwnerRow, 'user_name'>) =>
      db
        .insertInto('api_keys')
        .columns(['id', 'user_id', 'name', 'secret_hash', 'created_at', 'access', 'last_seen'])
        .expression((eb) =>
          eb
            .selectFrom('users')
            .select([
              eb.val(row.id).as('id'),
              'users.id as user_id',
              eb.val(row.name).as('name'),
              eb.val(row.secret_hash).as('secret_hash'),
              // The casts give PostgreSQL the type of a parameter.
              eb.cast<number>(eb.val(row.created_at), 'bigint').as('created_at'),
              eb.cast<string | null>(eb.val(row.access), 'text').as('access'),
              eb.cast<number>(eb.val(row.last_seen), 'bigint').as('last_seen'),
            ])
            .where('users.name', '=', row.user_name)
            .where(eb.not(eb.exists(eb.selectFrom('api_keys').select('api_keys.id')))),
        ),
    ),

    byHash: prepare((args: Columns<'secret_hash'>) =>
      unrevoked
        .innerJoin('users', 'users.id', 'api_keys.user_id')
        .select(OWNER_COLUMNS)
        .where('secret_hash', '=', args.secret_hash),
    ),

    /** Without `user_id`, finds the key of any user. */
    get: prepare((args: Columns<'id'> & Partial<Columns<'user_id'>>) =>
      unrevoked.where('id', '=', args.id).where(ofUser(args)),
    ),

    /** Counts a user's unrevoked keys up to a limit. */
    countUpTo: prepare(({ user_id, limit }: Columns<'user_id'> & { limit: number }) =>
      countUpTo(
        db,
        db.selectFrom('api_keys').select('id').where('user_id', '=', user_id).where('revoked_at', 'is', null),
        limit,
      ),
    ),

    pageOfUser: prepare((args: Columns<'user_id'> & PageArgs) =>
      newestFirst<ApiKeysTable>(db, 'api_keys', [sql`revoked_at is null`, is('user_id', args.user_id)], args),
    ),

    any: prepare(() => db.selectFrom('api_keys').select('id').limit(sql.lit(1))),

    /** A key that was used or revoked. The quotas of users limit how many keys are neither, so only a few are read before one is found. */
    anyUsed: prepare(() =>
      db
        .selectFrom('api_keys')
        .select('id')
        .where(sql<boolean>`(last_seen > 0 or revoked_at is not null)`)
        .limit(sql.lit(1)),
    ),

    list: prepare(() =>
      db
        .selectFrom('api_keys')
        .innerJoin('users', 'users.id', 'api_keys.user_id')
        .selectAll('api_keys')
        .select('users.name as user_name')
        .orderBy('api_keys.created_at')
        .orderBy('api_keys.id'),
    ),

    /** Without `user_id`, revokes the key of any user. A revoked key needs no rules, which may be large. */
    revoke: prepare((args: Columns<'id'> & Partial<Columns<'user_id'>> & { at: number }) =>
      db
        .updateTable('api_keys')
        .set({ revoked_at: args.at as ApiKeysTable['revoked_at'], access: null })
        .where('id', '=', args.id)
        .where('revoked_at', 'is', null)
        .where(ofUser(args)),
    ),

    /**
     * Deletes up to two revoked keys of the user of a key, and none of the newest `kept`. Run it after each `revoke`: a revocation adds one
     * revoked key and this deletes up to two, so a surplus goes down to 0.
     */
    deleteRevoked: prepare((args: Columns<'id'> & { kept: number }) =>
      db.deleteFrom('api_keys').where('id', 'in', (eb) =>
        eb
          .selectFrom('api_keys')
          .select('id')
          .where('user_id', '=', (owner) => owner.selectFrom('api_keys').select('user_id').where('id', '=', args.id))
          .where('revoked_at', 'is not', null)
          .orderBy('revoked_at', 'desc')
          .orderBy('id', 'desc')
          .limit(sql.lit(2))
          .offset(args.kept),
      ),
    ),

    seen: prepare((args: Columns<'id' | 'last_seen'>) =>
      db
        .updateTable('api_keys')
        .set({ last_seen: args.last_seen })
        .where('id', '=', args.id)
        .where('last_seen', '<', args.last_seen),
    ),
  };
}

/** Makes the row of a key. */
export function rowOfApiKey(key: ApiKey): ApiKeysTable {
  return {
    id: key.id,
    user_id: key.userId,
    name: key.name,
    secret_hash: key.secretHash,
    created_at: key.createdAt,
    revoked_at: key.revokedAt ?? null,
    access: key.access === undefined ? null : JSON.stringify(key.access),
    last_seen: key.lastSeen,
  };
}

/** Makes the key from a row. */
export function apiKeyOfRow(row: ApiKeysTable): ApiKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    secretHash: row.secret_hash,
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
    access: row.access === null ? undefined : (JSON.parse(row.access) as ApiKey['access']),
    lastSeen: row.last_seen,
  };
}

/** Makes the key and its user from a row. */
export function keyAndUserOfRow(row: ApiKeysTable & OwnerRow): { readonly key: ApiKey; readonly user: User } {
  return { key: apiKeyOfRow(row), user: ownerOfRow(row) };
}

/** Makes the user from a row that has the user's columns beside others. */
export function ownerOfRow(row: { readonly user_id: UsersTable['id'] } & OwnerRow): User {
  return userOfRow({
    id: row.user_id,
    name: row.user_name,
    created_at: row.user_created_at,
    is_admin: row.user_is_admin,
    suspended: row.user_suspended,
    quotas: row.user_quotas,
  });
}

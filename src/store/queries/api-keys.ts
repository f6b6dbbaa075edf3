/**
 * Queries on API keys.
 */
import type { Kysely } from 'kysely';
import type { ApiKey } from '#domain/user.ts';
import type { ApiKeysTable, Database, UsersTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';

/** The queries, prepared for one dialect. */
export function apiKeyQueries(db: Kysely<Database>) {
  return {
    create: prepare((row: ApiKeysTable) => db.insertInto('api_keys').values(row)),

    /** Gives the key to the user of that name (its id is not known when the user was there before), if it is the first of all. */
    createFirst: prepare((row: Omit<ApiKeysTable, 'user_id' | 'revoked_at'> & { user_name: UsersTable['name'] }) =>
      db
        .insertInto('api_keys')
        .columns(['id', 'user_id', 'name', 'secret_hash', 'created_at'])
        .expression((eb) =>
          eb
            .selectFrom('users')
            .select([
              eb.val(row.id).as('id'),
              'users.id as user_id',
              eb.val(row.name).as('name'),
              eb.val(row.secret_hash).as('secret_hash'),
              eb.cast<number>(eb.val(row.created_at), 'bigint').as('created_at'),
            ])
            .where('users.name', '=', row.user_name)
            .where(eb.not(eb.exists(eb.selectFrom('api_keys').select('api_keys.id')))),
        ),
    ),

    byHash: prepare((args: Pick<ApiKeysTable, 'secret_hash'>) =>
      db.selectFrom('api_keys').selectAll().where('secret_hash', '=', args.secret_hash).where('revoked_at', 'is', null),
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

    revoke: prepare((args: { id: ApiKeysTable['id']; at: NonNullable<ApiKeysTable['revoked_at']> }) =>
      db.updateTable('api_keys').set({ revoked_at: args.at }).where('id', '=', args.id).where('revoked_at', 'is', null),
    ),
  };
}

/** The row of a key. */
export function rowOfApiKey(key: ApiKey): ApiKeysTable {
  return {
    id: key.id,
    user_id: key.userId,
    name: key.name,
    secret_hash: key.secretHash,
    created_at: key.createdAt,
    revoked_at: key.revokedAt ?? null,
  };
}

/** The key of a row. */
export function apiKeyOfRow(row: ApiKeysTable): ApiKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    secretHash: row.secret_hash,
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
  };
}

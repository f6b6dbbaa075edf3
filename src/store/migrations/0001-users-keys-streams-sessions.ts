/**
 * The first tables. Their types exist in SQLite and PostgreSQL. Flags are the integers 0 and 1, and times are milliseconds.
 *
 * Every lookup has an index, so that its cost does not grow with the number of streams.
 */
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('secret_hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute();
  // A name may be used again once its key is revoked.
  await db.schema
    .createIndex('api_keys_by_user_and_name')
    .unique()
    .on('api_keys')
    .columns(['user_id', 'name'])
    .where('revoked_at' as never, 'is', null)
    .execute();
  await db.schema.createIndex('api_keys_by_age').on('api_keys').columns(['created_at', 'id']).execute();

  await db.schema
    .createTable('streams')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('stream_key', 'text', (column) => column.notNull())
    .addColumn('stream_key_hash', 'text', (column) => column.notNull().unique())
    .addColumn('playback_id', 'text', (column) => column.notNull().unique())
    .addColumn('created_by_token_name', 'text', (column) => column.notNull())
    .addColumn('profiles', 'text', (column) => column.notNull())
    .addColumn('is_active', 'integer', (column) => column.notNull())
    .addColumn('last_seen', 'bigint', (column) => column.notNull())
    .addColumn('suspended', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('streams_by_user_and_age')
    .on('streams')
    .columns(['user_id', 'created_at', 'id'])
    .execute();

  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('stream_id', 'text', (column) => column.notNull().references('streams.id'))
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('playback_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_by_token_name', 'text', (column) => column.notNull())
    .addColumn('profiles', 'text', (column) => column.notNull())
    .addColumn('phase', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_seen', 'bigint', (column) => column.notNull())
    .addColumn('reconnect_until', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('end_reason', 'text')
    .addColumn('media_path', 'text', (column) => column.notNull().unique())
    .addColumn('restarts', 'integer', (column) => column.notNull())
    .addColumn('codecs', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('sessions_by_phase_and_age').on('sessions').columns(['phase', 'created_at']).execute();
}

/** Adds users, API keys, streams and sessions. */
export const usersKeysStreamsSessions: Migration = { up };

/**
 * Adds the playback policy of a stream and the signing keys of users. A user's signing keys are few and always read together, so they need
 * no index of their order.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table streams add column playback_policy text`.execute(db);
  await db.schema
    .createTable('signing_keys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('public_key', 'text', (column) => column.notNull())
    .addColumn('disabled', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createIndex('signing_keys_by_user_and_age')
    .on('signing_keys')
    .columns(['user_id', 'created_at', 'id'])
    .execute();
}

/** Adds a column to streams, and the table of signing keys. */
export const playbackRights: Migration = { up };

/**
 * Adds the index of deleted streams that have not been emptied yet.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index streams_deleted on streams (deleted_at, id)
    where deleted_at is not null and stream_key <> ''`.execute(db);
}

/** Adds the index with which housekeeping finds deleted streams. */
export const deletedStreams: Migration = { up };

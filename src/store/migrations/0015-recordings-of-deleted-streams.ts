/**
 * Sets the missing time at which recordings of deleted streams are to be deleted. In earlier versions, recordings that were stored only
 * after the deletion of their stream had no such time, and would be kept for ever.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`update assets
    set delete_at = (select streams.deleted_at + 86400000 from streams where streams.id = assets.stream_id)
    where kind = 'recording' and deleted_at is null and delete_at is null
      and stream_id in (select id from streams where streams.deleted_at is not null)`.execute(db);
}

/** Makes recordings of deleted streams due a day after the deletion. */
export const recordingsOfDeletedStreams: Migration = { up };

/**
 * Deletes samples whose sessions have been deleted. Servers that shared a PostgreSQL left some when they deleted old sessions together.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  // With SQLite there are no such samples, because it has a single writer. Looking for some would read the whole table.
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
  await sql`delete from session_samples where not exists (select 1 from sessions where sessions.id = session_id)`.execute(
    db,
  );
}

/** Deletes samples without a session. */
export const samplesWithoutSession: Migration = { up };

/**
 * What shares the service out among users: their quotas.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table users add column quotas text not null default '{}'`.execute(db);
}

/** Everything that sharing needs. */
export const shares: Migration = { up };

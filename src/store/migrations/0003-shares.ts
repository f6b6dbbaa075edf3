/**
 * Adds the quotas of users, the number of terminations of a stream, whether a stream's publisher is still connected to the node that
 * claimed it last, and which process holds a node's lease.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table users add column quotas text not null default '{}'`.execute(db);
  await sql`alter table streams add column terminations integer not null default 0`.execute(db);
  await sql`alter table sessions add column terminations integer not null default 0`.execute(db);
  await sql`alter table publishers add column connected integer not null default 1`.execute(db);
  await sql`alter table nodes add column incarnation text not null default ''`.execute(db);
}

/** Adds columns to users, streams, sessions, publishers and nodes. */
export const shares: Migration = { up };

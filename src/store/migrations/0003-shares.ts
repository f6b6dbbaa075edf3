/**
 * What shares the service out among users, and keeps apart the nodes that write of it: quotas of users, how often a stream was
 * terminated, which node took a stream last, and which process holds the lease of a node.
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

/** Everything that sharing needs. */
export const shares: Migration = { up };

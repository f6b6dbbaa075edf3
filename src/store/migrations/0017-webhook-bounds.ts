/**
 * Adds what lets changes of all deliveries of a webhook be made in small steps: how far a webhook is with sending again, and the webhooks
 * that were deleted and of which rows are left.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhooks add column resend_after bigint`.execute(db);
  await sql`create table deleted_webhooks (id text primary key not null)`.execute(db);
}

/** Adds a column to webhooks, and the table of deleted ones. */
export const webhookBounds: Migration = { up };

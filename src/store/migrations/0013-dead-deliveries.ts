/**
 * Adds the index that finds the oldest of a webhook's deliveries that were given up.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index webhook_deliveries_dead on webhook_deliveries (webhook_id, sequence) where state = 'dead'`.execute(
    db,
  );
}

/** Indexes the deliveries that were given up. */
export const deadDeliveries: Migration = { up };

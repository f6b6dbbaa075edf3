/**
 * Gives a due time to webhooks that have waiting deliveries but no due time. With PostgreSQL, earlier versions could leave a webhook in
 * this state, and its deliveries were sent only after its next event.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`update webhooks set due_at = 0 where due_at is null and disabled_at is null and exists (
    select 1 from webhook_deliveries where webhook_id = webhooks.id and state = 'pending')`.execute(db);
}

/** Sets the due time of webhooks that lack it. */
export const waitingDeliveries: Migration = { up };

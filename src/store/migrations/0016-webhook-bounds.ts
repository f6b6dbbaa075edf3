/**
 * Adds what bounds the cost of webhooks and of lists of events.
 *
 * Changes of all deliveries of a webhook are made in small steps. So a webhook has a column that says how far it is with sending again, and
 * a table lists the deleted webhooks that still have rows.
 *
 * A webhook has a list of its previous secrets. The columns of a single one stay as they are, because servers of the version before may be
 * running during the upgrade, and sign with it. Nothing else reads them, and a later migration may drop them. A secret that such a server
 * replaces then is not in the list, so the other servers sign with the new one only.
 *
 * The index of a webhook's log has the columns that its list is filtered by, so that only entries of the page are read from the table.
 * Events of one stream and one type have an index of their own, because a stream may have very many events of other types. It contains the
 * stream as the expression of `alsoIs` in `queries/lists.ts`, because SQLite's query planner would otherwise prefer the index by stream.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhooks add column resend_after bigint`.execute(db);
  await sql`alter table webhooks add column previous_secrets text not null default '[]'`.execute(db);
  const { rows } = await sql<{ id: string; previous_secret: string; previous_until: number | string }>`
    select id, previous_secret, previous_until from webhooks
    where previous_secret is not null and previous_until is not null`.execute(db);
  for (const { id, previous_secret: secret, previous_until: until } of rows) {
    const secrets = JSON.stringify([{ secret, until: Number(until) }]);
    await sql`update webhooks set previous_secrets = ${secrets} where id = ${id}`.execute(db);
  }
  await sql`create table deleted_webhooks (id text primary key not null)`.execute(db);

  await sql`drop index webhook_log_of_webhook`.execute(db);
  await sql`create index webhook_log_of_webhook on webhook_log (webhook_id, at, id, success, type)`.execute(db);
  await sql`create index events_of_stream_by_type on events ((stream_id || ''), type, sequence) where sequence is not null`.execute(
    db,
  );
}

/** Adds two columns to webhooks, the table of deleted ones, and indexes. */
export const webhookBounds: Migration = { up };

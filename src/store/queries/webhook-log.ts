/**
 * Queries on the log of the requests to webhooks.
 */
import { type Kysely, sql } from 'kysely';
import type { EventType } from '#domain/events.ts';
import type { UserId, WebhookId, WebhookLogId } from '#domain/ids.ts';
import type { WebhookLog } from '#domain/webhook.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, WebhookLogTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import { is, newestFirst, ofUser, type PageArgs } from './lists.ts';

/** Prepares the queries. */
export function logQueries(db: Kysely<Database>) {
  return {
    add: prepare((row: WebhookLogTable) => db.insertInto('webhook_log').values(row)),

    /** Deletes entries of a webhook's log that are older than the `kept` latest ones, the oldest first. */
    trim: prepare((args: { webhook_id: WebhookId; kept: number; limit: number }) => {
      const log = db.selectFrom('webhook_log').where('webhook_id', '=', args.webhook_id);
      const oldestKept = log
        .select(['at', 'id'])
        .orderBy('at', 'desc')
        .orderBy('id', 'desc')
        .limit(sql.lit(1))
        .offset(sql<number>`${args.kept} - 1`);
      const oldest = log
        .select('id')
        .where(sql<boolean>`(at, id) < ${oldestKept}`)
        .orderBy('at')
        .orderBy('id')
        .limit(args.limit);
      return db.deleteFrom('webhook_log').where('id', 'in', oldest);
    }),

    get: prepare(({ id, ...scope }: { id: WebhookLogId; readonly user_id?: UserId }) =>
      db.selectFrom('webhook_log').selectAll().where('id', '=', id).where(ofUser(scope)),
    ),

    page: prepare((args: { webhook_id: WebhookId; success?: 0 | 1; type?: EventType } & PageArgs) => {
      const conditions = [is('webhook_id', args.webhook_id)];
      if (args.success !== undefined) conditions.push(sql`success = ${args.success}`);
      if (args.type !== undefined) conditions.push(sql`type = ${args.type}`);
      return newestFirst<WebhookLogTable>(db, 'webhook_log', conditions, args, { time: 'at' });
    }),

    deleteOld: prepare((args: { before: Milliseconds; limit: number }) =>
      db
        .deleteFrom('webhook_log')
        .where('id', 'in', (eb) =>
          eb.selectFrom('webhook_log').select('id').where('at', '<', args.before).orderBy('at').limit(args.limit),
        ),
    ),

    deleteOfDeleted: prepare((args: { limit: number }) =>
      db.deleteFrom('webhook_log').where(
        sql<boolean>`id in (select entries.id from deleted_webhooks cross join webhook_log as entries
            where entries.webhook_id = deleted_webhooks.id limit ${args.limit})`,
      ),
    ),
  };
}

/** Makes the row of an entry of the log. */
export function rowOfLog(entry: WebhookLog): WebhookLogTable {
  return {
    id: entry.id,
    webhook_id: entry.webhookId,
    user_id: entry.userId,
    event_id: entry.eventId,
    type: entry.type,
    stream_id: entry.streamId ?? null,
    at: entry.at,
    duration_ms: entry.durationMs,
    success: entry.success ? 1 : 0,
    attempt: entry.attempt,
    url: entry.url,
    request_body: entry.requestBody,
    status_code: entry.statusCode ?? null,
    response_body: entry.responseBody,
    error: entry.error ?? null,
  };
}

/** Makes the entry of the log from a row. */
export function logOfRow(row: WebhookLogTable): WebhookLog {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    userId: row.user_id,
    eventId: row.event_id,
    type: row.type,
    streamId: row.stream_id ?? undefined,
    at: row.at,
    durationMs: row.duration_ms,
    success: row.success === 1,
    attempt: row.attempt,
    url: row.url,
    requestBody: row.request_body,
    statusCode: row.status_code ?? undefined,
    responseBody: row.response_body,
    error: row.error ?? undefined,
  };
}

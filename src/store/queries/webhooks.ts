/**
 * Queries on webhooks, their subscriptions and their leases.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { DisabledReason, WebhookEventType } from '#domain/events.ts';
import type { UserId, WebhookId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import type { PreviousSecret, Webhook, WebhookFailure } from '#domain/webhook.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, WebhookEventsTable, WebhooksTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { WebhookChange } from '#store/webhook-store.ts';
import { countUpTo } from './count-up-to.ts';
import { newestFirst, ofUser, type PageArgs } from './lists.ts';
import { isPending } from './webhook-deliveries.ts';

/** The row of a webhook without the columns of its deliveries. */
export type WebhookRow = Omit<WebhooksTable, 'due_at' | 'lease' | 'leased_until'>;

type OfScope = { readonly user_id?: UserId };
type Id = Pick<WebhooksTable, 'id'>;

const COLUMNS = [
  'id',
  'user_id',
  'name',
  'url',
  'created_at',
  'events',
  'stream_id',
  'shared_secret',
  'previous_secrets',
  'disabled_at',
  'disabled_reason',
  'last_triggered_at',
  'last_failure',
  'resend_after',
] as const satisfies readonly (keyof WebhookRow)[];

/** Prepares the queries for one dialect. @param now SQL for the database's clock @param skipLocked see `Engine` */
export function webhookQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>, skipLocked: RawBuilder<unknown>) {
  const webhooks = db.selectFrom('webhooks').select(COLUMNS);
  const inMs = (delayMs: number) => sql<Milliseconds>`${now} + cast(${delayMs} as bigint)`;
  const free = sql<boolean>`leased_until <= ${now}`;
  const isDue = sql<boolean>`due_at <= ${now}`;

  return {
    create: prepare((row: WebhookRow) => db.insertInto('webhooks').values(row)),
    subscribe: prepare((row: WebhookEventsTable) => db.insertInto('webhook_events').values(row)),
    unsubscribe: prepare((args: { webhook_id: WebhookId }) =>
      db.deleteFrom('webhook_events').where('webhook_id', '=', args.webhook_id),
    ),

    get: prepare(({ id, ...scope }: Id & OfScope) => webhooks.where('id', '=', id).where(ofUser(scope))),

    page: prepare((args: OfScope & PageArgs) =>
      newestFirst<WebhookRow>(db, 'webhooks', [ofUser(args)], args, {
        columns: sql.join(COLUMNS.map((column) => sql.ref(column))),
      }),
    ),

    ofEvent: prepare((args: Pick<WebhookEventsTable, 'user_id' | 'type'> & { limit: number }) =>
      webhooks
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('webhook_events')
            .select('webhook_id')
            .where('user_id', '=', args.user_id)
            .where('type', '=', args.type),
        )
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(args.limit),
    ),

    /** Counts a user's webhooks up to a limit. */
    countUpTo: prepare((args: Pick<WebhooksTable, 'user_id'> & { limit: number }) =>
      countUpTo(db, db.selectFrom('webhooks').select('id').where('user_id', '=', args.user_id), args.limit),
    ),

    change: prepare(({ id, user_id, ...row }: Id & OfScope & Partial<WebhookRow>) =>
      db
        .updateTable('webhooks')
        .set(Object.keys(row).length > 0 ? row : { id })
        .where('id', '=', id)
        .where(ofUser({ user_id })),
    ),

    delete: prepare(({ id, ...scope }: Id & OfScope) =>
      db.deleteFrom('webhooks').where('id', '=', id).where(ofUser(scope)),
    ),
    /** Notes that a webhook was deleted, so that its deliveries and log are found. */
    deleted: prepare((args: Id) =>
      db
        .insertInto('deleted_webhooks')
        .values(args)
        .onConflict((conflict) => conflict.doNothing()),
    ),
    /** Forgets the deleted webhooks of which nothing is left. */
    forgetDeleted: prepare((args: { limit: number }) =>
      db.deleteFrom('deleted_webhooks').where(
        sql<boolean>`id in (select id from deleted_webhooks
            where not exists (select 1 from webhook_deliveries where webhook_id = deleted_webhooks.id)
              and not exists (select 1 from webhook_log where webhook_id = deleted_webhooks.id) limit ${args.limit})`,
      ),
    ),

    /** Locks a webhook, so that later queries of the write see the deliveries that others have added for it. */
    hold: prepare((args: Id) =>
      db
        .updateTable('webhooks')
        .set((eb) => ({ lease: eb.ref('lease') }))
        .where('id', '=', args.id),
    ),

    /** Leases webhooks that have a delivery due and that nobody delivers to, beginning with the one that has waited longest. */
    claim: prepare((args: { lease: string; lease_ms: number; limit: number }) =>
      db
        .updateTable('webhooks')
        .set({ lease: args.lease, leased_until: inMs(args.lease_ms) })
        .where(free)
        .where(
          sql<boolean>`id in (select id from webhooks where ${isDue} and ${free} order by due_at limit ${args.limit} ${skipLocked})`,
        ),
    ),

    /** Extends the leases of a process. */
    renew: prepare((args: { lease: string; lease_ms: number }) =>
      db
        .updateTable('webhooks')
        .set({ leased_until: inMs(args.lease_ms) })
        .where(sql<boolean>`id in (select id from webhooks where lease = ${args.lease} and lease <> '' ${skipLocked})`),
    ),

    leasedBy: prepare((args: { lease: string }) =>
      webhooks.where('lease', '=', args.lease).where(sql<boolean>`lease <> ''`),
    ),

    leasedIds: prepare((args: { lease: string }) =>
      db.selectFrom('webhooks').select('id').where('lease', '=', args.lease).where(sql<boolean>`lease <> ''`),
    ),

    /**
     * Releases a webhook and sets when there is something to do for it again. Run `hold` first. A webhook that its user disabled waits until
     * it is enabled. One that the server disabled may have deliveries that have not been given up yet.
     */
    release: prepare((args: Id & { lease: string }) =>
      db
        .updateTable('webhooks')
        .set({
          lease: sql.lit(''),
          leased_until: sql.lit(0 as Milliseconds),
          due_at: sql`case when disabled_reason = 'user' then null
            when disabled_at is null and resend_after is not null then ${now}
            else (select min(next_at) from webhook_deliveries where webhook_id = webhooks.id and ${isPending}) end`,
        })
        .where('id', '=', args.id)
        .where('lease', '=', args.lease),
    ),

    /** Milliseconds until the next webhook can be leased. Less than 0 when one can be leased already. */
    nextDue: prepare(() =>
      db
        .selectFrom('webhooks')
        .select(
          sql<number | null>`min(case when leased_until > due_at then leased_until else due_at end) - ${now}`.as(
            'in_ms',
          ),
        )
        .where('due_at', 'is not', null),
    ),

    triggered: prepare(({ id, ...status }: Id & Partial<Pick<WebhooksTable, 'last_triggered_at' | 'last_failure'>>) =>
      db.updateTable('webhooks').set(status).where('id', '=', id),
    ),

    /** Disables a webhook that is not disabled and has this URL. It is due, so that its deliveries are given up by `giveUpSome`. */
    disable: prepare((args: Id & { url: string; at: Milliseconds; reason: DisabledReason }) =>
      db
        .updateTable('webhooks')
        .set({ disabled_at: args.at, disabled_reason: args.reason, resend_after: null, due_at: now })
        .where('id', '=', args.id)
        .where('url', '=', args.url)
        .where('disabled_at', 'is', null),
    ),

    /** Requests that the failed deliveries of events numbered at or after a time become due again. `makeDue` carries it out. */
    resend: prepare((args: Id & { since: Milliseconds }) => {
      const before = sql`(select sequence - 1 from events where sequence is not null and recorded_at >= ${args.since}
        order by recorded_at, sequence limit 1)`;
      return db
        .updateTable('webhooks')
        .set({
          resend_after: sql`case when ${before} < coalesce(resend_after, ${sql.lit(Number.MAX_SAFE_INTEGER)}) then ${before}
            else resend_after end`,
        })
        .where('id', '=', args.id);
    }),

    /** Notes how far a webhook is with sending again, unless that changed in the meantime. */
    resentUpTo: prepare((args: Id & { after: number; until: number | null }) =>
      db
        .updateTable('webhooks')
        .set({ resend_after: args.until })
        .where('id', '=', args.id)
        .where('resend_after', '=', args.after),
    ),

    wake: prepare((args: Id) =>
      db.updateTable('webhooks').set({ due_at: now }).where('id', '=', args.id).where('disabled_at', 'is', null),
    ),

    /** Webhooks with pending deliveries. */
    waiting: prepare((args: { after: string; limit: number }) =>
      db
        .selectFrom('webhooks')
        .select('id')
        .where('due_at', 'is not', null)
        .where('id', '>', args.after as WebhookId)
        .orderBy('id')
        .limit(args.limit),
    ),
  };
}

/** Makes the row of a webhook. */
export function rowOfWebhook(webhook: Webhook): WebhookRow {
  return {
    id: webhook.id,
    user_id: webhook.userId,
    name: webhook.name,
    url: webhook.url,
    created_at: webhook.createdAt,
    events: JSON.stringify(webhook.events),
    stream_id: webhook.streamId ?? null,
    shared_secret: webhook.sharedSecret.reveal(),
    previous_secrets: textOfSecrets(webhook.previousSecrets),
    disabled_at: webhook.disabled?.at ?? null,
    disabled_reason: webhook.disabled?.reason ?? null,
    last_triggered_at: webhook.lastTriggeredAt ?? null,
    last_failure: webhook.lastFailure === undefined ? null : JSON.stringify(webhook.lastFailure),
    resend_after: webhook.resendAfter ?? null,
  };
}

/** The columns of a change. A key with the value `undefined` empties its column. Columns of absent keys stay as they are. */
export function rowOfWebhookChange(change: WebhookChange): Partial<WebhookRow> {
  const { name, url, events, sharedSecret, previousSecrets } = change;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: JSON.stringify(events) }),
    ...('streamId' in change && { stream_id: change.streamId ?? null }),
    ...(sharedSecret !== undefined && { shared_secret: sharedSecret.reveal() }),
    ...(previousSecrets !== undefined && { previous_secrets: textOfSecrets(previousSecrets) }),
    ...('disabled' in change && {
      disabled_at: change.disabled?.at ?? null,
      disabled_reason: change.disabled?.reason ?? null,
    }),
  };
}

const textOfSecrets = (secrets: readonly PreviousSecret[]): string =>
  JSON.stringify(secrets.map(({ secret, until }) => ({ secret: secret.reveal(), until })));

const secretsOfText = (text: string): PreviousSecret[] =>
  (JSON.parse(text) as { secret: string; until: Milliseconds }[]).map(({ secret, until }) => ({
    secret: new Secret(secret),
    until,
  }));

/** Makes the webhook from a row. */
export function webhookOfRow(row: WebhookRow): Webhook {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    url: row.url,
    createdAt: row.created_at,
    events: JSON.parse(row.events) as WebhookEventType[],
    streamId: row.stream_id ?? undefined,
    sharedSecret: new Secret(row.shared_secret),
    previousSecrets: secretsOfText(row.previous_secrets),
    disabled:
      row.disabled_at === null || row.disabled_reason === null
        ? undefined
        : { at: row.disabled_at, reason: row.disabled_reason },
    lastTriggeredAt: row.last_triggered_at ?? undefined,
    lastFailure: row.last_failure === null ? undefined : (JSON.parse(row.last_failure) as WebhookFailure),
    resendAfter: row.resend_after ?? undefined,
  };
}

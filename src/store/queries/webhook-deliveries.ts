/**
 * Queries on the deliveries of events to webhooks.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { WebhookId } from '#domain/ids.ts';
import type { WebhookDelivery } from '#domain/webhook.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, EventsTable, WebhookDeliveriesTable, WebhookLogTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { StoredDelivery } from '#store/webhook-store.ts';
import { eventOfRow } from './events.ts';

type DeliveryKey = Pick<WebhookDeliveriesTable, 'webhook_id' | 'sequence'>;

/** Whether a delivery waits. */
export const isPending = sql<boolean>`webhook_deliveries.state = 'pending'`;
const isDead = sql<boolean>`webhook_deliveries.state = 'dead'`;

/** Prepares the queries for one dialect. @param now SQL for the database's clock */
export function deliveryQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>) {
  const inMs = (delayMs: number) => sql<Milliseconds>`${now} + cast(${delayMs} as bigint)`;
  const withEvents = db
    .selectFrom('webhook_deliveries')
    .innerJoin('events', 'events.sequence', 'webhook_deliveries.sequence');
  const numbersOf = (id: WebhookId) =>
    db.selectFrom('webhook_deliveries').select('sequence').where('webhook_id', '=', id);
  /** The pending deliveries of a webhook, beginning with the one that is due first. */
  const pendingOf = (id: WebhookId) => numbersOf(id).where(isPending).orderBy('next_at').orderBy('sequence');
  /** Whether a delivery is one of the oldest, up to a limit, that are in this state and were created before a time. */
  const isOld = (state: 'pending' | 'dead', { before, limit }: { before: Milliseconds; limit: number }) =>
    sql<boolean>`(webhook_id, sequence) in (select webhook_id, sequence from webhook_deliveries
            where state = ${sql.lit(state)} and created_at < ${before} order by created_at limit ${limit})`;

  return {
    /** The due deliveries of a webhook, beginning with the one that has waited longest. */
    due: prepare((args: { webhook_id: WebhookId; limit: number }) =>
      withEvents
        .select([
          'webhook_deliveries.attempts',
          'webhook_deliveries.created_at',
          'events.id',
          'events.type',
          'events.at',
          'events.user_id',
          'events.stream_id',
          'events.session_id',
          'events.payload',
          'events.sequence',
          'events.recorded_at',
        ])
        .select(sql<number>`${now} - webhook_deliveries.created_at`.as('age_ms'))
        .where('webhook_id', '=', args.webhook_id)
        .where(isPending)
        .where(sql<boolean>`next_at <= ${now}`)
        .orderBy('next_at')
        .orderBy('webhook_deliveries.sequence')
        .limit(args.limit),
    ),

    delivered: prepare((args: DeliveryKey) =>
      db
        .deleteFrom('webhook_deliveries')
        .where('webhook_id', '=', args.webhook_id)
        .where('sequence', '=', args.sequence),
    ),

    retry: prepare((args: DeliveryKey & { delay_ms: number }) =>
      db
        .updateTable('webhook_deliveries')
        .set((eb) => ({ attempts: eb('attempts', '+', sql.lit(1)), next_at: inMs(args.delay_ms) }))
        .where('webhook_id', '=', args.webhook_id)
        .where('sequence', '=', args.sequence),
    ),

    giveUp: prepare((args: DeliveryKey) =>
      db
        .updateTable('webhook_deliveries')
        .set((eb) => ({ attempts: eb('attempts', '+', sql.lit(1)), state: sql.lit('dead' as const) }))
        .where('webhook_id', '=', args.webhook_id)
        .where('sequence', '=', args.sequence),
    ),

    /** Gives up the pending deliveries that are due first, while the webhook is disabled by the server. */
    giveUpSome: prepare((args: { webhook_id: WebhookId; limit: number }) =>
      db
        .updateTable('webhook_deliveries')
        .set({ state: sql.lit('dead' as const) })
        .where('webhook_id', '=', args.webhook_id)
        .where('sequence', 'in', pendingOf(args.webhook_id).limit(args.limit))
        .where(
          sql<boolean>`exists (select 1 from webhooks where id = ${args.webhook_id} and disabled_reason <> 'user')`,
        ),
    ),

    /** The number of an event: of the deliveries of events after `after`, the first `skip` are skipped, and the next one is of this event. */
    nthAfter: prepare((args: { webhook_id: WebhookId; after: number; skip: number }) =>
      numbersOf(args.webhook_id)
        .where('sequence', '>', args.after)
        .orderBy('sequence')
        .limit(sql.lit(1))
        .offset(args.skip),
    ),

    /** Makes the failed deliveries of events after `after` and up to `until` due again. */
    makeDue: prepare(({ webhook_id, after, ...to }: { webhook_id: WebhookId; after: number; until?: number }) => {
      const update = db
        .updateTable('webhook_deliveries')
        .set({ state: sql.lit('pending' as const), attempts: sql.lit(0), next_at: now, created_at: now })
        .where('webhook_id', '=', webhook_id)
        .where(sql<boolean>`(state = 'dead' or attempts > 0)`)
        .where('sequence', '>', after);
      return 'until' in to ? update.where('sequence', '<=', to.until!) : update;
    }),

    page: prepare(({ limit, ...args }: { webhook_id: WebhookId; state?: string; before?: number; limit: number }) => {
      const page = withEvents
        .selectAll('webhook_deliveries')
        .select(['events.id as event_id', 'events.type', 'events.stream_id'])
        .where('webhook_id', '=', args.webhook_id)
        .orderBy('webhook_deliveries.sequence', 'desc')
        .limit(limit);
      const inState = 'state' in args ? page.where(sql<boolean>`webhook_deliveries.state = ${args.state}`) : page;
      return 'before' in args ? inState.where('webhook_deliveries.sequence', '<', args.before) : inState;
    }),

    /** Gives up deliveries that were created before a time. */
    expire: prepare((args: { before: Milliseconds; limit: number }) =>
      db
        .updateTable('webhook_deliveries')
        .set({ state: sql.lit('dead' as const) })
        .where(isOld('pending', args)),
    ),

    /** Deletes deliveries that were given up and that were created before a time. */
    deleteDead: prepare((args: { before: Milliseconds; limit: number }) =>
      db.deleteFrom('webhook_deliveries').where(isOld('dead', args)),
    ),

    /**
     * Deletes deliveries of events that have been deleted, for webhooks with waiting deliveries. Events are deleted in the order of their
     * numbers.
     */
    deleteWithoutEvent: prepare((args: { limit: number }) =>
      db.deleteFrom('webhook_deliveries').where(
        sql<boolean>`(webhook_id, sequence) in (select deliveries.webhook_id, deliveries.sequence
            from webhooks cross join webhook_deliveries as deliveries
            where webhooks.due_at is not null and deliveries.webhook_id = webhooks.id and deliveries.sequence < coalesce(
              (select min(sequence) from events where sequence is not null), (select last + 1 from event_sequence))
            limit ${args.limit})`,
      ),
    ),

    deleteOfDeleted: prepare((args: { limit: number }) =>
      db.deleteFrom('webhook_deliveries').where(
        sql<boolean>`(webhook_id, sequence) in (select deliveries.webhook_id, deliveries.sequence
            from deleted_webhooks cross join webhook_deliveries as deliveries
            where deliveries.webhook_id = deleted_webhooks.id limit ${args.limit})`,
      ),
    ),

    /** Returns a row when more than `count` deliveries of a webhook wait. */
    hasMoreWaiting: prepare((args: { webhook_id: WebhookId; count: number }) =>
      pendingOf(args.webhook_id).limit(sql.lit(1)).offset(args.count),
    ),

    /** The number of the latest event whose delivery to a webhook was given up, after the `kept` latest such events are left out. */
    deadBeyond: prepare((args: { webhook_id: WebhookId; kept: number }) =>
      numbersOf(args.webhook_id).where(isDead).orderBy('sequence', 'desc').limit(sql.lit(1)).offset(args.kept),
    ),

    /** Deletes deliveries of a webhook that were given up, of events up to a number, the oldest first. */
    deleteDeadUpTo: prepare((args: { webhook_id: WebhookId; sequence: number; limit: number }) =>
      db
        .deleteFrom('webhook_deliveries')
        .where('webhook_id', '=', args.webhook_id)
        .where(
          'sequence',
          'in',
          numbersOf(args.webhook_id)
            .where(isDead)
            .where('sequence', '<=', args.sequence)
            .orderBy('sequence')
            .limit(args.limit),
        ),
    ),
  };
}

/** Makes the delivery from a row. */
export function deliveryOfRow(
  row: WebhookDeliveriesTable & Pick<WebhookLogTable, 'event_id' | 'type' | 'stream_id'>,
): WebhookDelivery {
  return {
    webhookId: row.webhook_id,
    eventId: row.event_id,
    type: row.type,
    streamId: row.stream_id ?? undefined,
    sequence: row.sequence,
    state: row.state,
    attempts: row.attempts,
    createdAt: row.created_at,
    nextAttemptAt: row.next_at,
  };
}

/** The longest time between the numbering of an event and the creation of its deliveries, which happen in the same write. */
const SAME_WRITE_MS = 60_000;

/** Makes a due delivery from a row. */
export function dueOfRow(
  row: Omit<EventsTable, 'position'> & { attempts: number; age_ms: number; created_at: Milliseconds },
): StoredDelivery {
  return {
    event: eventOfRow(row),
    attempts: row.attempts,
    ageMs: row.age_ms,
    // A delivery that is repeated gets a new time of creation.
    isRepeated: row.recorded_at !== null && row.created_at - row.recorded_at > SAME_WRITE_MS,
  };
}

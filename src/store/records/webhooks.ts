/**
 * The store's webhooks with their deliveries and log.
 */
import { newEventId, type UserId, type WebhookId } from '#domain/ids.ts';
import type { WebhookLog } from '#domain/webhook.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Engine, Query } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import { eventOfRow, eventQueries, rowOfEvent } from '#store/queries/events.ts';
import { rangeArgs } from '#store/queries/lists.ts';
import { deliveryOfRow, deliveryQueries, dueOfRow } from '#store/queries/webhook-deliveries.ts';
import { logOfRow, logQueries, rowOfLog } from '#store/queries/webhook-log.ts';
import { rowOfWebhook, rowOfWebhookChange, webhookOfRow, webhookQueries } from '#store/queries/webhooks.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';
import type { DeliveryOutcome } from '#store/webhook-store.ts';

/** The entries of a webhook's log that are kept. Up to several times {@link TRIMMED_EVERY} more may be there for a while. */
const LOG_KEPT = 10_000;
/** The number of new entries after which, on average, the log is cut. Finding the oldest entries takes about a millisecond. */
const TRIMMED_EVERY = 250;

/** Announces to the processes that deliver that something is due. */
const DUE = { announce: [{ type: 'events_added' }] } as const;

/** Makes the store's webhooks. */
export function webhookRecords(runner: Runner, { compiler, now, skipLocked }: Engine, clock: Clock): Store['webhooks'] {
  const webhooks = webhookQueries(compiler, now, skipLocked);
  const deliveries = deliveryQueries(compiler, now);
  const log = logQueries(compiler);
  const events = eventQueries(compiler, now);
  const lease = runner.incarnation;
  const countOf = (user: UserId, atMost: number) => runner.count(webhooks.countUpTo({ user_id: user, limit: atMost }));
  const quota = new RowQuota({ what: 'webhooks', count: countOf, clock });

  const subscriptions = (id: WebhookId, userId: UserId, types: readonly string[]): Query[] => [
    webhooks.unsubscribe({ webhook_id: id }),
    ...[...new Set(types)].map((type) => webhooks.subscribe({ user_id: userId, type: type as never, webhook_id: id })),
  ];

  return {
    create: (webhook, receipt, { atMost = 0 } = {}) =>
      quota.create(webhook.userId, atMost, async () => {
        const queries = [
          webhooks.create(rowOfWebhook(webhook)),
          ...subscriptions(webhook.id, webhook.userId, webhook.events),
        ];
        await runner.change(queries, [receipt]);
      }),

    get: (id, scope) => runner.cachedOne(webhooks.get({ id, ...ofScope(scope) }), webhookOfRow),

    list: (scope, page) =>
      runner.newestFirst(page, (args) => webhooks.page({ ...ofScope(scope), ...args }), webhookOfRow),

    ofEvent: (user, type, limit) => runner.all(webhooks.ofEvent({ user_id: user, type, limit }), webhookOfRow),
    countOf,

    async change(webhook, change, receipt) {
      const { id, userId } = webhook;
      const queries = [changingOne(webhooks.change({ id, ...rowOfWebhookChange(change) }))];
      if (change.events !== undefined) queries.push(...subscriptions(id, userId, change.events));
      // Deliveries may have become due while the webhook was disabled.
      if ('disabled' in change) queries.push(webhooks.wake({ id }));
      return runner.change(queries, [receipt], DUE);
    },

    delete(ids, scope, receipts) {
      const queries = ids.flatMap((id) => [
        changingOne(webhooks.delete({ id, ...ofScope(scope) })),
        webhooks.unsubscribe({ webhook_id: id }),
        webhooks.deleted({ id }),
      ]);
      return runner.change(queries, receipts);
    },

    async claimDue({ leaseMs, limit }) {
      const claimed = await runner.changed(webhooks.claim({ lease, lease_ms: leaseMs, limit }));
      return claimed === 0 ? [] : runner.all(webhooks.leasedBy({ lease }), webhookOfRow);
    },

    async renewLeases(leaseMs) {
      await runner.write([webhooks.renew({ lease, lease_ms: leaseMs })]);
      return runner.all(webhooks.leasedIds({ lease }), ({ id }) => id);
    },

    async release(id) {
      await runner.write([webhooks.hold({ id }), webhooks.release({ id, lease })]);
    },

    nextDueInMs: async () => (await runner.one(webhooks.nextDue({}), (row) => row))?.in_ms ?? undefined,
    due: (id, limit) => runner.all(deliveries.due({ webhook_id: id, limit }), dueOfRow),

    async record(id, outcomes) {
      const last = outcomes.at(-1);
      if (last === undefined) return;
      await runner.write([
        ...outcomes.flatMap((outcome) => settled(id, outcome)),
        ...logged(
          id,
          outcomes.map(({ log }) => log),
        ),
        triggered(last.log, outcomes.findLast(({ log }) => !log.success)?.log),
      ]);
    },

    async settle(id, outcomes) {
      await runner.write(outcomes.flatMap((outcome) => settled(id, outcome)));
    },

    async disable({ id, userId, url }, reason, at) {
      const event = {
        id: newEventId(),
        type: 'webhook.disabled',
        at,
        userId,
        streamId: undefined,
        sessionId: undefined,
        payload: { webhookId: id, reason },
      } as const;
      // Nothing changes when another request disabled or deleted the webhook in the meantime, or gave it another URL.
      await runner.attempt(
        [changingOne(webhooks.disable({ id, url, at, reason })), events.add(rowOfEvent(event))],
        DUE.announce,
      );
    },

    deliveries: (id, { state }, { limit, after }) => {
      const args = {
        webhook_id: id,
        ...(state !== undefined && { state }),
        ...(after !== undefined && { before: after.at }),
      };
      return runner.page(
        limit,
        (rows) => deliveries.page({ ...args, limit: rows }),
        deliveryOfRow,
        ({ sequence, eventId }) => ({ at: ms(sequence), id: eventId }),
      );
    },

    resendSince: (id, since, receipt) =>
      runner.change([changingOne(webhooks.resend({ id, since })), webhooks.wake({ id })], [receipt], DUE),

    async resendSome({ id, resendAfter: after }, limit) {
      if (after === undefined) return;
      const next = deliveries.nthAfter({ webhook_id: id, after, skip: limit - 1 });
      const until = await runner.one(next, ({ sequence }) => sequence);
      // Nothing changes when another request has begun it anew, or the webhook was disabled or deleted.
      await runner.attempt([
        deliveries.makeDue({ webhook_id: id, after, ...(until !== undefined && { until }) }),
        changingOne(webhooks.resentUpTo({ id, after, until: until ?? null })),
      ]);
    },

    giveUpSome: (id, limit) => runner.changed(deliveries.giveUpSome({ webhook_id: id, limit })),

    test: (event, receipt) =>
      runner.change(
        [changingOne(webhooks.hold({ id: event.payload.webhookId as WebhookId })), events.add(rowOfEvent(event))],
        [receipt],
      ),

    async resent(outcome, receipt) {
      const id = outcome.log.webhookId;
      const { success } = outcome.log;
      const status = triggered(outcome.log, success ? undefined : outcome.log);
      const entry = logged(id, [outcome.log]);
      return runner.change([...(success ? settled(id, outcome) : []), ...entry, status], [receipt]);
    },

    expire: (before, limit) => runner.changed(deliveries.expire({ before, limit })),

    deleteDead: (before, limit) => runner.changed(deliveries.deleteDead({ before, limit })),

    deleteWithoutEvent: (limit) => runner.changed(deliveries.deleteWithoutEvent({ limit })),

    async forgetDeleted(limit) {
      for (const some of [deliveries.deleteOfDeleted, log.deleteOfDeleted, webhooks.forgetDeleted]) {
        if ((await runner.changed(some({ limit }))) === limit) return limit;
      }
      return 0;
    },

    waiting: (after, limit) => runner.all(webhooks.waiting({ after, limit }), ({ id }) => id),
    hasMoreWaiting: (id, count) => runner.exists(deliveries.hasMoreWaiting({ webhook_id: id, count })),

    async deleteDeadBeyond(id, kept, limit) {
      const last = await runner.one(deliveries.deadBeyond({ webhook_id: id, kept }), ({ sequence }) => sequence);
      if (last === undefined) return 0;
      return runner.changed(deliveries.deleteDeadUpTo({ webhook_id: id, sequence: last, limit }));
    },

    event: (id) => runner.one(events.get({ id }), eventOfRow),
    logEntry: (id, scope) => runner.one(log.get({ id, ...ofScope(scope) }), logOfRow),

    log: (id, { success, type, from, to }, { limit, after }) => {
      const args = {
        webhook_id: id,
        ...(success !== undefined && { success: success ? (1 as const) : (0 as const) }),
        ...(type !== undefined && { type }),
        ...rangeArgs({ from, to }, 'desc', after),
      };
      return runner.page(
        limit,
        (rows) => log.page({ ...args, limit: rows }),
        logOfRow,
        (entry) => ({ at: entry.at, id: entry.id }),
      );
    },

    deleteLog: (before, limit) => runner.changed(log.deleteOld({ before, limit })),
  };

  /** The queries that add entries to the log of a webhook. Now and then, at random, they also delete its oldest entries. */
  function logged(id: WebhookId, entries: readonly WebhookLog[]): Query[] {
    const isCut = Math.random() * TRIMMED_EVERY < entries.length;
    return [
      ...entries.map((entry) => log.add(rowOfLog(entry))),
      ...(isCut ? [log.trim({ webhook_id: id, kept: LOG_KEPT, limit: 2 * TRIMMED_EVERY })] : []),
    ];
  }

  /** The query that notes the newest request in the webhook, and the newest one that failed, if there is one. */
  function triggered({ webhookId, at }: WebhookLog, failure: WebhookLog | undefined): Query {
    return webhooks.triggered({
      id: webhookId,
      last_triggered_at: at,
      ...(failure !== undefined && {
        last_failure: JSON.stringify({ at: failure.at, statusCode: failure.statusCode, error: failure.error }),
      }),
    });
  }

  /** The queries that store the result of an attempt. */
  function settled(id: WebhookId, { sequence, result }: Omit<DeliveryOutcome, 'log'>): Query[] {
    const key = { webhook_id: id, sequence };
    if (result.type === 'delivered') return [deliveries.delivered(key)];
    return [result.type === 'retry' ? deliveries.retry({ ...key, delay_ms: result.delayMs }) : deliveries.giveUp(key)];
  }
}

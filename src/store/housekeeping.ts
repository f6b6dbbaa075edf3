/**
 * Deletes what has been kept long enough: ended sessions, usage, rows of deleted assets, deleted streams, entries of the audit log, answers
 * to repeatable requests, replaced stream keys, events, the log of webhooks, and what is left of deleted webhooks. When a user has more
 * sessions than its quota, the oldest are deleted sooner. Deliveries that have failed for too long are given up, and a webhook with too many
 * waiting deliveries is disabled. What was stored while the clock of the database was ahead gets the present time.
 */
import type { WebhookId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Clock } from '#lib/clock.ts';
import { repeat } from '#lib/pause.ts';
import { DAY_MS, HOUR_MS, type Milliseconds, ms } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';
import { ANSWERS_KEPT_MS } from './receipt.ts';
import { FORMER_KEYS_KEPT_MS, type Store } from './store.ts';

/** The time between two rounds. */
const INTERVAL_MS = 60_000;

/** The first round looks at the users with sessions that ended within this time. */
const FIRST_LOOK_BACK_MS = HOUR_MS;

/** Each round looks back this much further than to the previous one, because the clocks of nodes differ and writes may be late. */
const LATE_MS = 60_000;

/** How long a delivery is tried. */
const DELIVERY_TRIED_MS = 3 * DAY_MS;
/**
 * How long a deleted stream is kept. This is longer than deliveries of its last events are tried (three days), because these show the
 * stream. It is also longer than its recordings are kept (one day), because the policy of the stream says who may watch them.
 */
const DELETED_STREAMS_KEPT_MS = 4 * DAY_MS;
/** The most deliveries that may wait for one webhook, and the most deliveries of one webhook that are kept after they were given up. */
const MAX_DELIVERIES = 100_000;

/** How far ahead the times of events must be, and for how long, until they are set back. The clock may also be behind for a moment. */
const AHEAD_MS = HOUR_MS;
const AHEAD_FOR_MS = DAY_MS;

/** The number of rows deleted by one write. Other writes wait only a few milliseconds for it. */
const BATCH = 500;

/** The options of housekeeping. */
export interface HousekeepingOptions {
  readonly store: Pick<
    Store,
    | 'users'
    | 'streams'
    | 'sessions'
    | 'audit'
    | 'idempotency'
    | 'events'
    | 'webhooks'
    | 'assets'
    | 'browserSessions'
    | 'usage'
  >;
  /** The quotas of users that have none of their own. */
  readonly quotas: Quotas;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Days that a session is kept after its end. 0 means forever. */
  readonly sessionRetentionDays: number;
  /** Days that entries are kept. 0 means forever. */
  readonly auditRetentionDays: number;
  readonly eventRetentionDays: number;
  readonly webhookLogRetentionDays: number;
  /** Milliseconds between two rounds. */
  readonly intervalMs?: number;
}

/** The housekeeping of one process. Several processes on one database share the work. The first round starts at once. */
export class Housekeeping implements AsyncDisposable {
  readonly #options: HousekeepingOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  /** Why steps of the running round failed. */
  #failures: unknown[] = [];
  /** When the last look at users with ended sessions began. */
  #lookedAt: Milliseconds;
  /** The monotonic time since which times have been found that lie ahead of the database's clock. */
  #aheadSince: Milliseconds | undefined;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#lookedAt = ms(options.clock.now() - FIRST_LOOK_BACK_MS);
    this.#running = repeat(() => this.#round(), options.intervalMs ?? INTERVAL_MS, this.#closing.signal);
  }

  /** Stops after the current batch. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #round(): Promise<void> {
    const { store, clock, sessionRetentionDays, auditRetentionDays, logger } = this.#options;
    const now = clock.now();
    this.#failures = [];
    await this.#emptyOut((limit) => store.idempotency.deleteOlder(ms(now - ANSWERS_KEPT_MS), limit));
    await this.#step(() => store.browserSessions.deleteOver(now));
    await this.#emptyOut((limit) => store.streams.forgetFormerKeys(ms(now - FORMER_KEYS_KEPT_MS), limit));
    await this.#emptyOut((limit) => store.streams.forgetDeleted(ms(now - DELETED_STREAMS_KEPT_MS), limit));
    if (sessionRetentionDays > 0) {
      const before = daysBefore(now, sessionRetentionDays);
      await this.#emptyOut((limit) => store.sessions.deleteEnded(before, limit));
      await this.#emptyOut((limit) => store.usage.deleteOlder(before, limit));
      await this.#emptyOut((limit) => store.assets.forget(before, limit));
    }
    await this.#step(() => this.#keepSessionsWithinQuotas(now));
    if (auditRetentionDays > 0) {
      const before = daysBefore(now, auditRetentionDays);
      await this.#emptyOut((limit) => store.audit.deleteOlder(before, limit));
    }
    await this.#sweepEvents(now);
    const [first] = this.#failures;
    if (first === undefined) return;
    logger.warn({ err: first, failures: this.#failures.length }, 'housekeeping failed; it is tried again');
  }

  async #sweepEvents(now: Milliseconds): Promise<void> {
    const { store, eventRetentionDays, webhookLogRetentionDays } = this.#options;
    await this.#step(() => this.#setBack());
    await this.#emptyOut((limit) => store.webhooks.expire(ms(now - DELIVERY_TRIED_MS), limit));
    await this.#step(() => this.#boundDeliveries(now));
    await this.#emptyOut((limit) => store.webhooks.deleteLog(daysBefore(now, webhookLogRetentionDays), limit));
    await this.#emptyOut((limit) => store.webhooks.deleteDead(daysBefore(now, eventRetentionDays), limit));
    await this.#emptyOut((limit) => store.events.deleteOlder(daysBefore(now, eventRetentionDays), limit));
    // A delivery may be younger than its event, because it was requested again.
    await this.#emptyOut((limit) => store.webhooks.deleteWithoutEvent(limit));
    await this.#emptyOut((limit) => store.webhooks.forgetDeleted(limit));
  }

  /**
   * Sets times back that lie ahead because the clock of the database was ahead. It waits for a day, because the clock may be behind now
   * instead: events that get an old time by mistake would be deleted once the clock is right.
   */
  async #setBack(): Promise<void> {
    const { store, clock, logger } = this.#options;
    if (!(await store.events.areAhead(AHEAD_MS))) {
      this.#aheadSince = undefined;
      return;
    }
    this.#aheadSince ??= clock.monotonic();
    if (clock.monotonic() - this.#aheadSince < AHEAD_FOR_MS) return;
    logger.warn(
      {},
      'events or deliveries were stored while the clock was ahead; their times are set back to the present',
    );
    await this.#inBatches((limit) => store.events.setBack(AHEAD_MS, limit));
  }

  /**
   * Disables webhooks for which too many deliveries wait, and deletes the oldest deliveries that were given up. It looks only at webhooks
   * with waiting deliveries, because no others get more deliveries.
   */
  async #boundDeliveries(now: Milliseconds): Promise<void> {
    const { webhooks } = this.#options.store;
    for (let after: WebhookId | '' = ''; !this.#closing.signal.aborted; ) {
      const ids = await webhooks.waiting(after, BATCH);
      for (const id of ids) {
        if (await webhooks.hasMoreWaiting(id, MAX_DELIVERIES)) {
          const webhook = await webhooks.get(id, 'everyone');
          if (webhook !== undefined) await webhooks.disable(webhook, 'too_many_deliveries', now);
        }
        await this.#inBatches((limit) => webhooks.deleteDeadBeyond(id, MAX_DELIVERIES, limit));
      }
      if (ids.length < BATCH) return;
      after = ids.at(-1)!;
    }
  }

  /** Deletes sessions beyond the quotas of users. Only users with a session that ended since the last look can exceed their quota now. */
  async #keepSessionsWithinQuotas(now: Milliseconds): Promise<void> {
    const { store, quotas } = this.#options;
    for (const id of await store.sessions.usersWithEnded(ms(this.#lookedAt - LATE_MS))) {
      const user = await store.users.get(id);
      const keep = user === undefined ? 0 : quotasOf(user, quotas).sessions;
      if (keep > 0) await this.#inBatches((limit) => store.sessions.deleteBeyond(id, keep, limit));
      if (this.#closing.signal.aborted) return;
    }
    this.#lookedAt = now;
  }

  /** Runs a step of a round that deletes all rows of one kind that are due. */
  #emptyOut(deleteSome: (limit: number) => Promise<number>): Promise<void> {
    return this.#step(() => this.#inBatches(deleteSome));
  }

  /** Runs a step of a round. One that fails must not keep the others from running. */
  async #step(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#failures.push(error);
    }
  }

  /** Changes or deletes rows in batches until none is left, so that other writes can run between them. */
  async #inBatches(changeSome: (limit: number) => Promise<number>): Promise<void> {
    while (!this.#closing.signal.aborted && (await changeSome(BATCH)) === BATCH);
  }
}

const daysBefore = (now: Milliseconds, days: number): Milliseconds => ms(now - days * DAY_MS);

/**
 * Delivers events to webhooks: leases webhooks with due deliveries, and runs a queue for each as long as there are any.
 *
 * A lease covers a webhook and not a delivery. So no receiver gets more requests at a time than one process sends, and an attempt costs one
 * write. When a process dies, its leases run out, and another process repeats its attempts that were in progress.
 */
import { MillraceError } from '#domain/errors.ts';
import type { UserId, WebhookId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { pause } from '#lib/pause.ts';
import { within } from '#lib/within.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { Deliverer } from './deliverer.ts';
import { RETRY_LIMITS, type RetryLimits } from './retry-schedule.ts';
import type { Sender } from './sender.ts';
import { Slots } from './slots.ts';
import { WebhookQueue } from './webhook-queue.ts';
import type { PresentStream, Resending } from './webhooks.ts';

/** How long a lease lasts, and how often it is renewed. */
const LEASE_MS = 30_000;
const RENEW_EVERY_MS = 8000;
/** The number of webhooks that one process delivers to at a time. */
const MAX_QUEUES = 2000;
/** The number of requests in progress, in total and for one user. */
const SLOTS = { total: 1000, perUser: 100 };
/** The number of events that one user may be sending again at the same time, in progress or waiting for a slot. */
const MAX_RESENDS = 20;
/** How often the store is polled without an announcement, because other processes may have died. */
const POLL_EVERY_MS = 5000;
/** The shortest pause between two polls that found nothing, and the pause after a failure. */
const MIN_PAUSE_MS = 50;
const RETRY_MS = 500;
/** How long attempts in progress may take when the process stops, and how long storing their results may take. */
const DRAIN_MS = 1500;
const STORE_MS = 1500;

/** The options of a dispatcher. */
export interface DispatcherOptions {
  readonly store: Pick<Store, 'streams' | 'webhooks' | 'listen' | 'isShared'>;
  readonly sender: Pick<Sender, 'post'>;
  readonly presentStream: PresentStream;
  /** The origin of URLs in payloads, where the operator has set it. */
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'webhookAttempts' | 'webhookDelay' | 'webhookRequests'>;
  readonly limits?: RetryLimits;
  /** The default is 30 s. */
  readonly leaseMs?: number;
}

/** The dispatcher of one process. */
export class Dispatcher implements AsyncDisposable {
  /** Sends single deliveries again. */
  readonly resending: Resending;
  readonly #options: DispatcherOptions;
  readonly #deliverer: Deliverer;
  readonly #slots = new Slots(SLOTS);
  /** One at a time, because each write of SQLite waits for those before it. */
  readonly #steps = new Slots({ total: 1, perUser: 1 });
  readonly #queues = new Map<WebhookId, WebhookQueue>();
  readonly #resends = new Map<UserId, number>();
  readonly #running = new Set<Promise<void>>();
  /** Aborted first: no new work begins. */
  readonly #closing = new AbortController();
  /** Aborted later: work in progress is abandoned. */
  readonly #stopping = new AbortController();
  readonly #listening: Disposable;
  readonly #loop: Promise<void>;
  readonly #leaseMs: number;
  #renewal: NodeJS.Timeout | undefined;
  #isWoken = true;
  #wake: () => void = () => {};

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#deliverer = new Deliverer({ ...options, limits: options.limits ?? RETRY_LIMITS });
    // Resends that a user requests share the slots of regular deliveries.
    this.resending = {
      resend: async (webhook, entry) => {
        using _resend = this.#beginResend(webhook.userId);
        using _slot = await this.#slots.take(webhook.userId);
        return await this.#deliverer.resend(webhook, entry);
      },
    };
    options.metrics.webhookRequests.observe({}, () => this.#slots.taken);
    this.#listening = options.store.listen(({ type }) => {
      if (type !== 'events_added' && type !== 'missed') return;
      this.#poll();
      for (const queue of this.#queues.values()) queue.wake();
    });
    this.#loop = this.#run();
  }

  /** Begins no new work, waits briefly for work in progress, and releases the leases. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening[Symbol.dispose]();
    this.#closing.abort();
    this.#poll();
    const stop = setTimeout(() => this.#stopping.abort(), DRAIN_MS);
    await this.#loop;
    // Queues without work in progress end at once.
    if (this.#slots.taken === 0) this.#stopping.abort();
    for (const queue of this.#queues.values()) queue.wake();
    // Results that are not stored by then are lost, and those events are sent again.
    await within(DRAIN_MS + STORE_MS, Promise.all(this.#running));
    clearTimeout(stop);
    clearInterval(this.#renewal);
  }

  /** Counts a resend until the result is disposed. Its request waits for a receiver, so without a limit a slow one would fill the memory. */
  #beginResend(user: UserId): Disposable {
    const others = this.#resends.get(user) ?? 0;
    if (others >= MAX_RESENDS) {
      throw new MillraceError(
        'too_many_requests',
        `You are sending ${others} events again already; wait for their answers first.`,
        { retryAfterS: 1 },
      );
    }
    this.#resends.set(user, others + 1);
    return {
      [Symbol.dispose]: () => {
        const left = this.#resends.get(user)! - 1;
        if (left === 0) this.#resends.delete(user);
        else this.#resends.set(user, left);
      },
    };
  }

  #poll(): void {
    this.#isWoken = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    const { store, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#isWoken = false;
      try {
        const inMs = await store.webhooks.nextDueInMs();
        const hasBegun = inMs !== undefined && inMs <= 0 && (await this.#claim());
        if (!hasBegun) await this.#waitUntilDue(inMs);
      } catch (error) {
        logger[error instanceof MillraceError ? 'debug' : 'warn']({ err: error }, 'webhooks put off');
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** Leases webhooks and begins to deliver to them. Returns whether there were any. */
  async #claim(): Promise<boolean> {
    const limit = MAX_QUEUES - this.#queues.size;
    if (limit <= 0) return false;
    const leasedUntil = this.#options.clock.monotonic() + this.#leaseMs;
    const claimed = await this.#options.store.webhooks.claimDue({ leaseMs: this.#leaseMs, limit });
    const begun = claimed.filter(({ id }) => !this.#queues.has(id));
    for (const { id } of begun) this.#begin(id, leasedUntil);
    return begun.length > 0;
  }

  #begin(id: WebhookId, leasedUntil: number): void {
    const { store, clock, logger } = this.#options;
    const queue = new WebhookQueue(id, {
      store,
      deliverer: this.#deliverer,
      slots: this.#slots,
      steps: this.#steps,
      clock,
      logger,
      closing: this.#closing.signal,
      signal: this.#stopping.signal,
      leasedUntil,
    });
    this.#queues.set(id, queue);
    this.#renewal ??= setInterval(() => void this.#renew(), (RENEW_EVERY_MS * this.#leaseMs) / LEASE_MS).unref();
    const running = this.#deliver(id, queue);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  async #deliver(id: WebhookId, queue: WebhookQueue): Promise<void> {
    const { logger } = this.#options;
    try {
      await queue.run();
    } catch (error) {
      logger[error instanceof MillraceError ? 'debug' : 'warn']({ err: error, webhookId: id }, 'deliveries put off');
      await pause(RETRY_MS, this.#closing.signal);
    }
    while (!(await this.#release(id)) && !this.#closing.signal.aborted) await pause(RETRY_MS, this.#closing.signal);
    this.#queues.delete(id);
    if (this.#queues.size === 0) {
      clearInterval(this.#renewal);
      this.#renewal = undefined;
    }
    this.#poll();
  }

  /**
   * Releases the lease of a webhook. Returns false when that failed, and must then be called again: until the process ends, the lease is
   * renewed together with those of other webhooks, and no process can deliver to the webhook.
   */
  async #release(id: WebhookId): Promise<boolean> {
    const { store, logger } = this.#options;
    try {
      await store.webhooks.release(id);
      return true;
    } catch (error) {
      const isTemporary = error instanceof MillraceError;
      logger[isTemporary ? 'debug' : 'warn']({ err: error, webhookId: id }, 'lease of a webhook not released yet');
      return false;
    }
  }

  /** Renews the leases, and ends the queues whose webhook another process has leased, after this one was frozen or its store was stuck. */
  async #renew(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const queues = [...this.#queues];
    const leasedUntil = clock.monotonic() + this.#leaseMs;
    try {
      const leased = new Set(await store.webhooks.renewLeases(this.#leaseMs));
      for (const [id, queue] of queues) queue.renewed(leased.has(id) ? leasedUntil : 0);
    } catch (error) {
      logger.debug({ err: error }, 'leases of webhooks not renewed');
    }
  }

  /** Waits until something may be due. @param inMs the result of `nextDueInMs` */
  #waitUntilDue(inMs: number | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#isWoken) resolve();
    const untilPollMs = this.#options.store.isShared ? POLL_EVERY_MS : undefined;
    const waitMs = inMs === undefined ? untilPollMs : Math.min(Math.max(MIN_PAUSE_MS, inMs), untilPollMs ?? 60_000);
    const timer = waitMs === undefined ? undefined : setTimeout(resolve, waitMs);
    return promise.finally(() => clearTimeout(timer));
  }
}

/**
 * Delivers to one webhook while this process holds its lease: loads due deliveries, makes attempts, and stores their results.
 */
import { MillraceError } from '#domain/errors.ts';
import type { UserId, WebhookId } from '#domain/ids.ts';
import type { Webhook } from '#domain/webhook.ts';
import type { Clock } from '#lib/clock.ts';
import { pause } from '#lib/pause.ts';
import type { Store } from '#store/store.ts';
import type { DeliveryOutcome } from '#store/webhook-store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Deliverer, DueDelivery } from './deliverer.ts';
import type { Slots } from './slots.ts';

/**
 * The number of requests to one webhook that may be in progress: at first, and at most. It becomes 1 when the receiver does not answer, or
 * answers 429 or 503. Every other answer doubles it.
 */
const FIRST_CONCURRENCY = 4;
const MAX_CONCURRENCY = 16;
/** The number of deliveries loaded at a time, for each request that may be in progress. */
const LOADED_PER_REQUEST = 8;
/** The number of attempts without a stored result above which no more are made. */
const MAX_UNSTORED = 256;
/** The pause after the store failed, and before an attempt that failed by an internal error is repeated. */
const RETRY_MS = 500;
/** The number of deliveries that one write makes due again or gives up. Other writes wait only a few milliseconds for it. */
const STEP = 500;
/** How often storing a result is tried while the queue is closing. */
const CLOSING_TRIES = 3;

/** The options of a queue. */
export interface WebhookQueueOptions {
  readonly store: Pick<Store, 'webhooks'>;
  readonly deliverer: Deliverer;
  readonly slots: Slots;
  /** Lets the queues of a process take turns with writes that change many deliveries. */
  readonly steps: Slots;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the process begins to stop, so that no new work begins. */
  readonly closing: AbortSignal;
  /** Aborts when the process stops. Attempts in progress are abandoned and repeated later. */
  readonly signal: AbortSignal;
  /** The monotonic time until which the webhook is leased. */
  readonly leasedUntil: number;
}

/** The deliveries of one webhook. */
export class WebhookQueue {
  readonly #id: WebhookId;
  readonly #options: WebhookQueueOptions;
  /** The deliveries that are being sent or stored, by sequence number. */
  readonly #busy = new Set<number>();
  readonly #unstored: DeliveryOutcome[] = [];
  #concurrency = FIRST_CONCURRENCY;
  #sending = 0;
  #storing: Promise<void> | undefined;
  #gone: Webhook | undefined;
  /** The webhook when it was last read, if the server had disabled it. */
  #disabled: Webhook | undefined;
  #wake: () => void = () => {};
  #isWoken = false;
  #leasedUntil: number;

  constructor(id: WebhookId, options: WebhookQueueOptions) {
    this.#id = id;
    this.#options = options;
    this.#leasedUntil = options.leasedUntil;
  }

  /**
   * Notes until when the webhook is leased. Once that has passed, another process may deliver to it, and no new attempt begins here.
   * @param leasedUntil a monotonic time; in the past when another process has the lease
   */
  renewed(leasedUntil: number): void {
    this.#leasedUntil = leasedUntil;
  }

  /** Notes that there may be more to deliver. */
  wake(): void {
    if (this.#sending >= this.#concurrency) return;
    this.#isWoken = true;
    this.#wake();
  }

  /** Delivers until nothing is due, the lease is over or the process stops, and stores the results. Throws the errors of the store. */
  async run(): Promise<void> {
    try {
      for (;;) {
        const webhook = await this.#receiving();
        if (webhook === undefined) break;
        this.#isWoken = false;
        if (webhook.resendAfter !== undefined) {
          await this.#step(webhook, (limit) => this.#options.store.webhooks.resendSome(webhook, limit));
          continue;
        }
        const due = await this.#load();
        if (due.length === 0 && this.#busy.size === 0) break;
        for (const delivery of due) if (!(await this.#start(webhook.userId, delivery))) break;
        if (due.length === 0) await this.#progress();
      }
    } finally {
      while (this.#sending > 0) await this.#progress();
      await this.#storing;
    }
    if (this.#gone !== undefined) {
      await this.#options.store.webhooks.disable(this.#gone, 'gone', this.#options.clock.now());
    }
    await this.#giveUp(this.#gone ?? this.#disabled);
  }

  /** Gives up all that waits for a webhook that the server has disabled. Ends early when the webhook is enabled meanwhile. */
  async #giveUp(webhook: Webhook | undefined): Promise<void> {
    const { store, closing } = this.#options;
    for (let given = STEP; webhook !== undefined && given === STEP && !closing.aborted; ) {
      given = await this.#step(webhook, (limit) => store.webhooks.giveUpSome(this.#id, limit));
    }
  }

  /** Changes some of the webhook's deliveries, when it is this queue's turn. */
  async #step<Result>(webhook: Webhook, change: (limit: number) => Promise<Result>): Promise<Result> {
    using _ = await this.#options.steps.take(webhook.userId);
    return await change(STEP);
  }

  /** Reads the webhook as it is now. Undefined when nothing may be sent to it any more. */
  async #receiving(): Promise<Webhook | undefined> {
    const { store, clock, closing } = this.#options;
    const webhook = await store.webhooks.get(this.#id, 'everyone');
    const isLeased = clock.monotonic() < this.#leasedUntil;
    const isOver = closing.aborted || !isLeased || this.#gone !== undefined || webhook?.disabled !== undefined;
    this.#disabled = webhook?.disabled === undefined || webhook.disabled.reason === 'user' ? undefined : webhook;
    return isOver ? undefined : webhook;
  }

  async #load(): Promise<readonly DueDelivery[]> {
    const { store, deliverer } = this.#options;
    if (this.#unstored.length >= MAX_UNSTORED) return [];
    const limit = this.#concurrency * LOADED_PER_REQUEST;
    // Results may be stored while the store is being read: what is read then still shows those deliveries as due.
    const busy = new Set(this.#busy);
    const found = await store.webhooks.due(this.#id, limit + busy.size);
    return deliverer.withStreams(found.filter(({ event }) => !busy.has(event.sequence)).slice(0, limit));
  }

  /**
   * Begins an attempt as soon as there is room for it. The wait may take minutes, so the webhook is read after it. Returns false when
   * nothing may be sent to the webhook any more.
   */
  async #start(user: UserId, delivery: DueDelivery): Promise<boolean> {
    const { slots, closing } = this.#options;
    while (this.#sending >= this.#concurrency && !closing.aborted) await this.#progress();
    using slot = new DisposableStack();
    slot.use(await slots.take(user));
    const webhook = await this.#receiving();
    if (webhook === undefined) return false;
    this.#sending += 1;
    this.#busy.add(delivery.event.sequence);
    const taken = slot.move();
    void this.#attempt(webhook, delivery).finally(() => {
      taken.dispose();
      this.#sending -= 1;
      this.#wake();
    });
    return true;
  }

  async #attempt(webhook: Webhook, delivery: DueDelivery): Promise<void> {
    const { deliverer, logger, signal } = this.#options;
    try {
      const { outcome, next } = await deliverer.attempt(webhook, delivery, signal);
      if (next.type === 'gone') this.#gone = webhook;
      const { statusCode } = outcome.log;
      const isUnavailable = statusCode === undefined || statusCode === 429 || statusCode === 503;
      this.#concurrency = isUnavailable ? 1 : Math.min(MAX_CONCURRENCY, this.#concurrency * 2);
      this.#unstored.push(outcome);
      this.#storing ??= this.#store().finally(() => {
        this.#storing = undefined;
        this.#wake();
      });
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error, webhookId: this.#id }, 'attempt failed by an internal error');
      await pause(RETRY_MS, signal);
      this.#busy.delete(delivery.event.sequence);
    }
  }

  /**
   * Stores all results in one write, including those that arrive in the meantime. An event is not sent again before the result of its
   * attempt is stored, because otherwise the receiver would get the same event again and again without a pause.
   */
  async #store(): Promise<void> {
    const { logger, signal } = this.#options;
    for (let closingTries = 0; this.#unstored.length > 0; ) {
      const outcomes = this.#unstored.slice();
      try {
        await this.#record(outcomes);
      } catch (error) {
        const isTemporary = error instanceof MillraceError;
        logger[isTemporary ? 'debug' : 'warn']({ err: error, webhookId: this.#id }, 'attempts not stored yet');
        if (signal.aborted) closingTries += 1;
        if (closingTries < CLOSING_TRIES) {
          await pause(RETRY_MS);
          continue;
        }
      }
      this.#forget(outcomes);
    }
  }

  /** Stores results with their entries in the log, or without them when the store refuses an entry. */
  async #record(outcomes: readonly DeliveryOutcome[]): Promise<void> {
    const { store, logger } = this.#options;
    try {
      await store.webhooks.record(this.#id, outcomes);
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      logger.warn({ err: error, webhookId: this.#id }, 'attempts not logged');
      await store.webhooks.settle(this.#id, outcomes);
    }
  }

  #forget(outcomes: readonly DeliveryOutcome[]): void {
    this.#unstored.splice(0, outcomes.length);
    for (const { sequence } of outcomes) this.#busy.delete(sequence);
    this.#wake();
  }

  /** Waits until an attempt was made or stored, or {@link WebhookQueue.wake} was called. */
  #progress(): Promise<void> {
    if (this.#isWoken) {
      this.#isWoken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * The part of the store's contract for webhooks, their deliveries, and the log of their attempts.
 */
import type { DisabledReason, EventType, NewEvent, ServiceEvent, WebhookEventType } from '#domain/events.ts';
import type { EventId, UserId, WebhookId, WebhookLogId } from '#domain/ids.ts';
import type { DeliveryState, Webhook, WebhookDelivery, WebhookLog } from '#domain/webhook.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Page, PageOptions, Scope } from './page.ts';
import type { Receipt } from './receipt.ts';
import type { RowLimit } from './row-quota.ts';

/** The fields that may change on a webhook. Absent keys leave a field as it is, and `undefined` empties it. */
export type WebhookChange = Partial<
  Pick<Webhook, 'name' | 'url' | 'events' | 'streamId' | 'sharedSecret' | 'previousSecrets' | 'disabled'>
>;

/** The result of an attempt at a delivery, which decides what happens to the delivery. */
export interface DeliveryOutcome {
  /** The sequence number of the event. */
  readonly sequence: number;
  readonly log: WebhookLog;
  readonly result:
    | { readonly type: 'delivered' }
    | { readonly type: 'retry'; readonly delayMs: number }
    | { readonly type: 'dead' };
}

/** A delivery that is due. */
export interface StoredDelivery {
  readonly event: ServiceEvent;
  /** The number of earlier attempts since the delivery was created or requested again. */
  readonly attempts: number;
  /** The time since the delivery was created or requested again. */
  readonly ageMs: number;
  /** Whether the delivery was requested again. */
  readonly isRepeated: boolean;
}

/** URLs that events are sent to. A process delivers to a webhook while it holds the webhook's lease. Leases end with the process. */
export interface WebhookStore {
  /** Creates a webhook. @throws {MillraceError} `quota_exceeded` */
  create(webhook: Webhook, receipt: Receipt, limit?: RowLimit): Promise<void>;
  get(id: WebhookId, scope: Scope): Promise<Webhook | undefined>;
  /** Lists webhooks, newest first. */
  list(scope: Scope, page: PageOptions): Promise<Page<Webhook>>;
  /** The webhooks of a user that subscribe to an event type, newest first. */
  ofEvent(user: UserId, type: WebhookEventType, limit: number): Promise<readonly Webhook[]>;
  /** Counts a user's webhooks up to `atMost`. */
  countOf(user: UserId, atMost: number): Promise<number>;
  /** Changes a webhook. Returns whether it exists. Once it is enabled again, deliveries that became due in the meantime are sent. */
  change(webhook: Pick<Webhook, 'id' | 'userId'>, change: WebhookChange, receipt: Receipt): Promise<boolean>;
  /**
   * Deletes all of the webhooks, or none when one does not exist. Returns whether it deleted them. Their deliveries and logs are deleted by
   * `forgetDeleted`.
   * @param receipts one for each id, in the same order
   */
  delete(ids: readonly WebhookId[], scope: Scope, receipts: readonly Receipt[]): Promise<boolean>;

  /** Leases webhooks with due deliveries. Returns all that this process has leased, or none when there was nothing new. */
  claimDue(options: { readonly leaseMs: number; readonly limit: number }): Promise<readonly Webhook[]>;
  /** Extends all leases of this process. Returns the webhooks that it still has leased: another process may have some of them by now. */
  renewLeases(leaseMs: number): Promise<readonly WebhookId[]>;
  /** Releases a lease. */
  release(id: WebhookId): Promise<void>;
  /** Milliseconds until a webhook can be leased. Undefined while nothing waits. */
  nextDueInMs(): Promise<number | undefined>;
  /** The due deliveries, beginning with the one that has waited longest. */
  due(id: WebhookId, limit: number): Promise<readonly StoredDelivery[]>;
  /** Stores the results of attempts at deliveries to one webhook, with their entries in the log, which keeps about the latest 10,000. */
  record(id: WebhookId, outcomes: readonly DeliveryOutcome[]): Promise<void>;
  /** Stores the results of attempts like `record`, but without entries in the log, for when the store refuses an entry. */
  settle(id: WebhookId, outcomes: readonly Omit<DeliveryOutcome, 'log'>[]): Promise<void>;
  /**
   * Disables a webhook and stores the event `webhook.disabled`. Its pending deliveries are given up by `giveUpSome`. Does nothing when it is
   * already disabled, or has another URL by now.
   */
  disable(webhook: Pick<Webhook, 'id' | 'userId' | 'url'>, reason: DisabledReason, at: Milliseconds): Promise<void>;
  /** Deliveries that have not succeeded, the latest event first. The keys of its pages have the number of an event in place of a time. */
  deliveries(
    id: WebhookId,
    filter: { readonly state?: DeliveryState },
    page: PageOptions,
  ): Promise<Page<WebhookDelivery>>;
  /** Gives up pending deliveries of a webhook that the server has disabled, at most `limit` at once. Returns how many. */
  giveUpSome(id: WebhookId, limit: number): Promise<number>;
  /**
   * Requests that the deliveries which failed or were given up become due again, for events that were numbered at `since` or later.
   * Returns whether the webhook exists. `resendSome` carries it out.
   */
  resendSince(id: WebhookId, since: Milliseconds, receipt: Receipt): Promise<boolean>;
  /** Makes the failed ones among the next `limit` deliveries after `resendAfter` due again, and moves `resendAfter`. */
  resendSome(webhook: Pick<Webhook, 'id' | 'resendAfter'>, limit: number): Promise<void>;
  /** Stores a test event, which is delivered to its webhook only. Returns whether the webhook exists. */
  test(event: NewEvent<'webhook.test'>, receipt: Receipt): Promise<boolean>;
  /** Stores the result of an attempt that the user requested. A delivery that succeeded by it is deleted. */
  resent(outcome: DeliveryOutcome, receipt: Receipt): Promise<boolean>;
  /** Gives up deliveries created before a time, at most `limit` at once. Returns how many. */
  expire(before: Milliseconds, limit: number): Promise<number>;
  /** Deletes deliveries that were given up and created before a time, at most `limit` at once. Returns how many. */
  deleteDead(before: Milliseconds, limit: number): Promise<number>;
  /**
   * Deletes deliveries of events that have been deleted, at most `limit` at once. Only webhooks with waiting deliveries are looked at.
   * Returns how many it deleted.
   */
  deleteWithoutEvent(limit: number): Promise<number>;
  /** Deletes deliveries and entries of the log of deleted webhooks, at most `limit` at once. Returns `limit` when there may be more. */
  forgetDeleted(limit: number): Promise<number>;
  /** Webhooks with pending deliveries, in the order of their ids. */
  waiting(after: WebhookId | '', limit: number): Promise<readonly WebhookId[]>;
  /** Whether more than `count` deliveries of a webhook are pending. */
  hasMoreWaiting(id: WebhookId, count: number): Promise<boolean>;
  /**
   * Deletes deliveries of a webhook that were given up, at most `limit` at once, the oldest first. Those of the `kept` latest events stay.
   * Returns how many it deleted.
   */
  deleteDeadBeyond(id: WebhookId, kept: number, limit: number): Promise<number>;
  /** A numbered event, to be delivered again. */
  event(id: EventId): Promise<ServiceEvent | undefined>;
  logEntry(id: WebhookLogId, scope: Scope): Promise<WebhookLog | undefined>;
  /** Lists entries of the log, newest first. */
  log(
    id: WebhookId,
    filter: {
      readonly success?: boolean;
      readonly type?: EventType;
      readonly from?: Milliseconds;
      readonly to?: Milliseconds;
    },
    page: PageOptions,
  ): Promise<Page<WebhookLog>>;
  /** Deletes entries of the log from before a time, at most `limit` at once, the oldest first. Returns how many. */
  deleteLog(before: Milliseconds, limit: number): Promise<number>;
}

/**
 * The contract of the store, in the domain's words. Every engine passes the suite in `store.contract.ts`.
 *
 * Every write resolves only after it is durable; concurrent writes may share one commit. Every call rejects with
 * `MillraceError('store_unavailable')` when the store is away, its queue is full or its time limit has passed. Nothing has happened
 * then, and nothing will. When nobody can know whether a write happened, it rejects with `outcome_unknown` instead: repeat it only if it
 * is harmless twice. The store heals by itself. No call blocks the event loop.
 *
 * Where several processes share the database, some calls take the node that writes. What they say about live media counts only from the
 * node that took the stream last, and only while the process holds the lease of that node (`docs/decisions/0014-who-may-write.md`).
 * Such a call returns false when the stream or session belongs to another node by now, and rejects with `store_unavailable` while the
 * lease has run out. Both times nothing has changed.
 */
import type { AuditEntry } from '#domain/audit.ts';
import type { DisabledReason, EventType, NewStreamEvent, ServiceEvent } from '#domain/events.ts';
import type {
  ApiKeyId,
  EventId,
  MediaPath,
  NodeId,
  PlaybackId,
  SessionId,
  SigningKeyId,
  StreamId,
  UserId,
  WebhookId,
  WebhookLogId,
} from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import type { QuotaChange } from '#domain/quotas.ts';
import type { Secret } from '#domain/secret.ts';
import type { Session, SessionPhase } from '#domain/session.ts';
import type { SigningKey } from '#domain/signing-key.ts';
import type { Stream } from '#domain/stream.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { DeliveryState, Webhook, WebhookDelivery, WebhookLog } from '#domain/webhook.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { StoreAnnouncement } from './announcement.ts';

/** Whose records a call may see: one user's, or everybody's for an admin. */
export type Scope = UserId | 'everyone';

/** Where a list page ended: the value it is ordered by, of its last row, and that row's id. */
export interface PageKey {
  readonly at: Milliseconds;
  readonly id: string;
}

/** Part of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Where the next page starts; undefined when there is none. */
  readonly next: PageKey | undefined;
}

/** What every list takes. Rows of the same time are ordered by id, the same way. */
export interface PageOptions {
  /** 1..1000 */
  readonly limit: number;
  readonly after?: PageKey | undefined;
}

/** By which time records are listed. */
export const LIST_ORDERS = ['createdAt', 'lastSeen'] as const;
/** One of {@link LIST_ORDERS}. */
export type ListOrder = (typeof LIST_ORDERS)[number];

/** Which records are listed: those that meet every condition. Each is answered from an index. */
export interface ListFilter {
  readonly id?: string;
  readonly playbackId?: PlaybackId;
  readonly isActive?: boolean;
  /**
   * Part of the name, in any letter case; at least one character. The only field that no index leads to: a page is given after at most
   * 100,000 rows were compared, so it may have fewer rows than its limit, even none, although there is a next page.
   */
  readonly name?: string;
  /** Streams only. */
  readonly creatorId?: string;
  /** Sessions only: those of this stream. */
  readonly parentId?: StreamId;
  /** Sessions only. */
  readonly record?: boolean;
  /** Bounds of the time the list is ordered by, both included. */
  readonly from?: Milliseconds;
  readonly to?: Milliseconds;
}

/** A list asked for. */
export interface ListOptions extends PageOptions {
  readonly order: ListOrder;
  /** `desc`: the newest first. */
  readonly direction: 'asc' | 'desc';
  readonly filter: ListFilter;
}

/** What may change on a stream; absent keys stay, `undefined` empties. */
export type StreamChange = Partial<
  Pick<
    Stream,
    | 'name'
    | 'profiles'
    | 'suspended'
    | 'record'
    | 'creatorId'
    | 'userTags'
    | 'playbackPolicy'
    | 'lastTerminatedAt'
    | 'streamKey'
  >
>;

/** What may change on a session; absent keys stay. */
export type SessionChange = Partial<
  Pick<
    Session,
    | 'name'
    | 'phase'
    | 'lastSeen'
    | 'reconnectUntil'
    | 'endedAt'
    | 'endReason'
    | 'restarts'
    | 'codecs'
    | 'nodeId'
    | 'totals'
    | 'viewers'
    | 'health'
  >
>;

/** What may change on a signing key; absent keys stay. */
export type SigningKeyChange = Partial<Pick<SigningKey, 'name' | 'disabled'>>;

/** What may change on a user; absent keys stay. Each quota changes by itself, whatever else changes at the same time. */
export type UserChange = Partial<Pick<User, 'name' | 'isAdmin' | 'suspended'>> & { readonly quotas?: QuotaChange };

/** What may change on a webhook; absent keys stay, `undefined` empties. */
export type WebhookChange = Partial<
  Pick<Webhook, 'name' | 'url' | 'events' | 'streamId' | 'sharedSecret' | 'previousSecret' | 'disabled'>
>;

/** Which events are listed: those that meet all that is there. Each combination is answered from an index. */
export interface EventFilter {
  /** Needs a user's scope, or `streamId`. */
  readonly type?: EventType;
  readonly streamId?: StreamId;
  /** Bounds of the time at which events were numbered, both included; by the database's clock. */
  readonly from?: Milliseconds;
  readonly to?: Milliseconds;
}

/** What an attempt at a delivery did, and what becomes of the delivery. */
export interface DeliveryOutcome {
  /** The event's. */
  readonly sequence: number;
  readonly log: WebhookLog;
  readonly result:
    | { readonly type: 'delivered' }
    | { readonly type: 'retry'; readonly delayMs: number }
    | { readonly type: 'dead' };
}

/** What is stored together with a change that somebody asked for: all of it or nothing. */
export interface Receipt {
  readonly audit: AuditEntry;
  /** Answers repeats of the request from now on; see {@link Store.idempotency}. */
  readonly answer?: { readonly claim: IdempotencyClaim; readonly sealed: string } | undefined;
}

/** How long a request is remembered after it was answered, for those who repeat it; in milliseconds. */
export const ANSWERS_KEPT_MS = 24 * 3600 * 1000;

/** How many rows of a kind the user may have when another one is created. */
export interface RowLimit {
  /** The quota; 0 = any number. `row-quota.ts` says how exactly it is kept. */
  readonly atMost?: number;
}

/** Names one request that its sender may repeat. */
export interface IdempotencyClaim {
  readonly userId: UserId;
  /** `POST /stream` */
  readonly route: string;
  /** SHA-256 of the Idempotency-Key, lower-case hex. */
  readonly keyHash: string;
  /** SHA-256 of the body, lower-case hex. */
  readonly bodyHash: string;
  readonly at: Milliseconds;
}

/** What is known of a request that may be a repeat. */
export type IdempotencyState =
  | { readonly state: 'claimed' } // by this call: go on, then answer or release it
  | { readonly state: 'pending' } // its twin is under way
  | { readonly state: 'answered'; readonly sealed: string }
  | { readonly state: 'other_body' };

/** Everything that must last. */
export interface Store extends AsyncDisposable {
  /** Whether other processes may serve from the same database. */
  readonly isShared: boolean;
  /**
   * Tells what this process and others announced, each after its commit; the order of one process's is kept. What happens while
   * the database is away is told as `missed`. The listener must not throw.
   */
  listen(listener: (announcement: StoreAnnouncement) => void): Disposable;
  /** Tells all processes, this one included; resolves once it is on its way. */
  announce(announcement: StoreAnnouncement): Promise<void>;

  readonly users: {
    /** The user of that name, made if there is none. */
    ensure(user: User): Promise<User>;
    /** @throws {MillraceError} `conflict` when the name is taken */
    create(user: User, receipt: Receipt): Promise<void>;
    get(id: UserId): Promise<User | undefined>;
    byName(name: string): Promise<User | undefined>;
    /** Newest first. */
    list(page: PageOptions): Promise<Page<User>>;
    /**
     * Says whether there is such a user. Announces `user_changed`.
     * @throws {MillraceError} `conflict` when the name is taken, or no active admin would be left
     */
    change(id: UserId, change: UserChange, receipt: Receipt): Promise<boolean>;
  };

  readonly apiKeys: {
    /** @throws {MillraceError} `conflict` when the user has an unrevoked key of that name, `quota_exceeded` */
    create(key: ApiKey, receipt: Receipt, limit?: RowLimit): Promise<void>;
    /** Makes the user, if there is none of that name, and its key when the store holds no key at all; says whether it did. Atomic. */
    createFirst(user: User, key: ApiKey, receipts: readonly Receipt[]): Promise<boolean>;
    /** The unrevoked key with that SHA-256 (lower-case hex) and its user. Sees at once what another process revoked. */
    byHash(secretHash: string): Promise<{ readonly key: ApiKey; readonly user: User } | undefined>;
    /** An unrevoked key. */
    get(id: ApiKeyId, scope: Scope): Promise<ApiKey | undefined>;
    /** The unrevoked keys of a user, newest first. */
    ofUser(user: UserId, page: PageOptions): Promise<Page<ApiKey>>;
    /** How many unrevoked ones a user has; counts no further than `atMost`. */
    countOf(user: UserId, atMost: number): Promise<number>;
    /** All keys, revoked ones included, oldest first. For the command line. */
    list(): Promise<readonly (ApiKey & { readonly userName: string })[]>;
    /** Says whether there was such an unrevoked key. */
    revoke(id: ApiKeyId, scope: Scope, receipt: Receipt): Promise<boolean>;
    /** Notes when keys were last used; never sets one back. */
    seen(times: ReadonlyMap<ApiKeyId, Milliseconds>): Promise<void>;
  };

  readonly signingKeys: {
    /** @throws {MillraceError} `quota_exceeded` */
    create(key: SigningKey, receipt: Receipt, limit?: RowLimit): Promise<void>;
    get(id: SigningKeyId, scope: Scope): Promise<SigningKey | undefined>;
    /** The keys of a user, newest first. */
    ofUser(user: UserId, page: PageOptions): Promise<Page<SigningKey>>;
    /** Returns whether there is such a key. */
    change(id: SigningKeyId, scope: Scope, change: SigningKeyChange, receipt: Receipt): Promise<boolean>;
    /** Returns whether there was such a key. */
    delete(id: SigningKeyId, scope: Scope, receipt: Receipt): Promise<boolean>;
  };

  /** Deleted streams are kept, so that no id or key is ever used again, but only {@link Store.sessions} still tells of them. */
  readonly streams: {
    /**
     * That no two streams have one key rests on the key's 80 random bits; nothing else is checked.
     * @throws {MillraceError} `conflict` when its id or playback id is taken, `quota_exceeded`
     */
    create(stream: Stream, receipt: Receipt, limit?: RowLimit): Promise<void>;
    get(id: StreamId, scope: Scope): Promise<Stream | undefined>;
    /** Those of `ids` that are there, in any order. @param of `all`: deleted ones, too */
    getMany(ids: readonly StreamId[], of?: 'all'): Promise<readonly Stream[]>;
    byStreamKey(key: Secret): Promise<Stream | undefined>;
    byPlaybackId(id: PlaybackId): Promise<Stream | undefined>;
    list(scope: Scope, options: ListOptions): Promise<Page<Stream>>;
    count(scope: Scope, filter: ListFilter, order: ListOrder): Promise<number>;
    /** How many a user has; counts no further than `atMost`, so that it costs no more than that. */
    countOf(user: UserId, atMost: number): Promise<number>;
    /**
     * Says whether there is such a stream. Announces `stream_changed`.
     * @param when `idle`: only while no media is coming in and no publisher is connected to a node that lives
     * @throws {MillraceError} `conflict` when there is
     */
    change(id: StreamId, scope: Scope, change: StreamChange, receipt: Receipt, when?: 'idle'): Promise<boolean>;
    /**
     * Counts one more termination, which disconnects every publisher that was accepted before it. Announces `stream_changed`.
     * @param notWithinMs refused when that was done less than so long ago
     */
    terminate(
      id: StreamId,
      scope: Scope,
      options: { readonly at: Milliseconds; readonly notWithinMs: number },
      receipt: Receipt,
    ): Promise<'done' | 'not_found' | { readonly retryAfterMs: number }>;
    /**
     * All of them, or none when one is not there: says which. Announces `stream_changed` for each.
     * @param ids each once @param receipts one each, in order
     */
    delete(ids: readonly StreamId[], scope: Scope, receipts: readonly Receipt[]): Promise<boolean>;
    /**
     * Sets what live media says about the stream. When `isActive` changes, the event `stream.started` or `stream.idle` is stored with it.
     * @param activity.at when that happened; now by default
     * @param writer the node that says so, where processes share the store
     */
    setActivity(
      id: StreamId,
      activity: Pick<Stream, 'isActive' | 'lastSeen' | 'health'> & { readonly at?: Milliseconds | undefined },
      writer?: NodeId,
    ): Promise<boolean>;
  };

  readonly sessions: {
    /**
     * Harmless twice: a session that is there already gets what {@link SessionChange} names. Stores the event `session.started` with it,
     * and `session.ended` where it has ended.
     * @param writer the node it runs on, where processes share the store
     * @param at when it could first be watched; now by default
     */
    create(session: Session, writer?: NodeId, at?: Milliseconds): Promise<boolean>;
    get(id: SessionId, scope: Scope): Promise<Session | undefined>;
    /**
     * Changes a session. Returns false when there is no such session. The end of the session is stored with the event `session.ended`.
     * @param writer the node it runs on, where processes share the store: nothing changes once another node has ended it as `node_lost`
     */
    change(id: SessionId, change: SessionChange, writer?: NodeId): Promise<boolean>;
    /**
     * Resumes a session that other nodes may have ended as `node_lost` because they took its node for dead. Returns false, and changes
     * nothing, when another node has taken the stream meanwhile.
     */
    resume(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange, writer: NodeId): Promise<boolean>;
    list(scope: Scope, options: ListOptions): Promise<Page<Session>>;
    count(scope: Scope, filter: ListFilter, order: ListOrder): Promise<number>;
    /**
     * Every session of a node in one of these phases, oldest first: what a starting process must take up or end. In a store that is
     * not shared, every session is its only process's.
     */
    ofNode(node: NodeId, phases: readonly Exclude<SessionPhase, 'ended'>[]): Promise<readonly Session[]>;
    /** The sessions of a stream that have not ended, oldest first. */
    openOf(stream: StreamId): Promise<readonly Session[]>;
    /**
     * What a playback id shows, and where it runs: of its sessions the one that began last, of those that have not ended if there are any,
     * since the clocks of two nodes need not agree on the order.
     */
    newest(
      playbackId: PlaybackId,
    ): Promise<{ readonly session: Session; readonly node: ServiceNode | undefined } | undefined>;
    /** The same by the path of its media. */
    byMediaPath(
      path: MediaPath,
    ): Promise<{ readonly session: Session; readonly node: ServiceNode | undefined } | undefined>;
    /** Deletes ended sessions that ended before; at most `limit` at once, the oldest first. Says how many. */
    deleteEnded(before: Milliseconds, limit: number): Promise<number>;
    /** The users of whom a session ended at that time or later, each once. */
    usersWithEnded(since: Milliseconds): Promise<readonly UserId[]>;
    /**
     * Deletes ended sessions of a user that are older than its newest `keep` ones; at most `limit` at once, the oldest first. Says how
     * many.
     */
    deleteBeyond(user: UserId, keep: number, limit: number): Promise<number>;
  };

  /** Who shares the database. Times are the database's, so that clocks need not agree. */
  readonly nodes: {
    /**
     * Holds the lease for so long from now; the node is there from its first call on. Says whether the lease that this process held had
     * run out since. The first call of a process takes the lease over from an earlier process of the node and releases the publishers that
     * were connected to that one.
     */
    renew(node: ServiceNode, leaseMs: number): Promise<{ readonly hadLapsed: boolean }>;
    /** Gives the lease back: the node stops, and no publisher is connected to it any more. */
    leave(id: NodeId): Promise<void>;
    /** A secret that only those who share the database know, the same for all of them; made at the first call. */
    clusterSecret(): Promise<Secret>;
    /** Nodes whose lease has run out, until what they owned is ended. */
    lapsed(): Promise<readonly NodeId[]>;
    /**
     * Ends all that a node owned, if its lease is still out: sessions as `node_lost`, streams idle, with their events; and forgets the node.
     * Says which sessions. None ends before it was last seen, however early `at` is.
     */
    endSessionsOf(id: NodeId, at: Milliseconds): Promise<readonly Session[]>;
  };

  /** Which node a stream's publisher is connected to: one at a time. */
  readonly publishers: {
    /**
     * Takes the stream for a node, unless a publisher of it is connected to another node that lives. A stream that is taken over from
     * another node is not active at first. Announces `stream_published`.
     * @throws {MillraceError} `store_unavailable`, also when this process does not hold the lease of the node
     */
    claim(stream: StreamId, node: NodeId): Promise<boolean>;
    /** Notes that the stream's publisher at this node is gone. Does nothing when another node has taken the stream. */
    release(stream: StreamId, node: NodeId): Promise<void>;
    /** The node that took each stream last, even if its publisher has gone since. */
    ownersOf(streams: readonly StreamId[]): Promise<ReadonlyMap<StreamId, NodeId>>;
  };

  /** Requests that their sender may repeat. */
  readonly idempotency: {
    /**
     * Claims a request for its first sender. A claim neither answered nor released is anybody's after `pendingMs`.
     * @param keepMs how long answers are kept
     */
    claim(
      claim: IdempotencyClaim,
      options: { readonly pendingMs: number; readonly keepMs: number },
    ): Promise<IdempotencyState>;
    /** It was refused and changed nothing: a repeat is judged anew. */
    release(claim: IdempotencyClaim): Promise<void>;
    /** Forgets answers kept long enough; at most `limit` at once. Says how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  readonly audit: {
    /** Newest first. */
    list(
      filter: { readonly userId?: UserId; readonly resourceId?: string },
      page: PageOptions,
    ): Promise<Page<AuditEntry>>;
    /** At most `limit` at once, the oldest first. Says how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  /**
   * What happened, in the order of `sequence`. Most events are stored by the change they tell of: `streams` and `sessions` do that, too.
   *
   * An event can be read once it is numbered. Numbers are given in the order in which events become readable, so whoever has read up to
   * a number misses none by going on after it (`docs/decisions/0017-events-numbered-after-their-commit.md`).
   */
  readonly events: {
    /** Adds events that no stored change makes, about streams that there are or were. Harmless twice. */
    add(events: readonly NewStreamEvent[]): Promise<void>;
    /**
     * Numbers up to `limit` events and makes their deliveries to webhooks, in one write; then announces `events_added`. Says how many.
     * Processes do this one at a time.
     */
    number(limit: number): Promise<number>;
    /** Whether events wait to be numbered. */
    areWaiting(): Promise<boolean>;
    /** Calls it when this process has stored events that wait to be numbered, or may have. */
    onUnnumbered(listener: () => void): Disposable;
    /** The number given last; 0 before the first. */
    last(): Promise<number>;
    /** @param options.after only those after this number, in the direction of the list */
    list(
      scope: Scope,
      options: {
        readonly limit: number;
        /** `asc`: the smallest number first. */
        readonly direction: 'asc' | 'desc';
        readonly after?: number | undefined;
        readonly filter: EventFilter;
      },
    ): Promise<readonly ServiceEvent[]>;
    /** Deletes events that were numbered before; at most `limit` at once, the oldest first. Says how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  /** URLs that events are sent to. A process delivers to a webhook while it holds the webhook's lease. Leases end with the process. */
  readonly webhooks: {
    /** @throws {MillraceError} `quota_exceeded` */
    create(webhook: Webhook, receipt: Receipt, limit?: RowLimit): Promise<void>;
    get(id: WebhookId, scope: Scope): Promise<Webhook | undefined>;
    /** Newest first. */
    list(scope: Scope, page: PageOptions): Promise<Page<Webhook>>;
    /** Those of a user that hear of events of a type, newest first. */
    ofEvent(user: UserId, type: EventType, limit: number): Promise<readonly Webhook[]>;
    /** How many a user has; counts no further than `atMost`. */
    countOf(user: UserId, atMost: number): Promise<number>;
    /** Says whether it is there. A webhook that is enabled, or gets another URL, is sent at once what waits for it. */
    change(webhook: Pick<Webhook, 'id' | 'userId'>, change: WebhookChange, receipt: Receipt): Promise<boolean>;
    /** All of them with their deliveries, or none when one is not there: says which. @param receipts one each, in order */
    delete(ids: readonly WebhookId[], scope: Scope, receipts: readonly Receipt[]): Promise<boolean>;

    /** Leases webhooks with deliveries that are due. Returns all that this process has leased, or none when there was nothing new. */
    claimDue(options: { readonly leaseMs: number; readonly limit: number }): Promise<readonly Webhook[]>;
    /** Lengthens all leases of this process. */
    renewLeases(leaseMs: number): Promise<void>;
    /** Gives a lease back. */
    release(id: WebhookId): Promise<void>;
    /** In how many milliseconds a webhook can be leased; undefined while nothing waits. */
    nextDueInMs(): Promise<number | undefined>;
    /** Deliveries that are due, the ones that wait longest first. `ageMs`: since the delivery was made. */
    due(
      id: WebhookId,
      limit: number,
    ): Promise<readonly { readonly event: ServiceEvent; readonly attempts: number; readonly ageMs: number }[]>;
    /** Stores what attempts at deliveries to one webhook did. */
    record(id: WebhookId, outcomes: readonly DeliveryOutcome[]): Promise<void>;
    /** Disables a webhook, gives up what waits for it, and stores the event `webhook.disabled`. Does nothing when it is disabled already. */
    disable(webhook: Pick<Webhook, 'id' | 'userId'>, reason: DisabledReason, at: Milliseconds): Promise<void>;
    /** Deliveries that have not succeeded, the latest event first. @param options.before only events before this number */
    deliveries(
      id: WebhookId,
      options: { readonly state?: DeliveryState; readonly limit: number; readonly before?: number },
    ): Promise<readonly WebhookDelivery[]>;
    /** Makes deliveries that failed or were given up due now, of events that were numbered at that time or later. */
    resendSince(id: WebhookId, since: Milliseconds, receipt: Receipt): Promise<boolean>;
    /** Stores what one more attempt did that its user asked for. A delivery that it made succeed is over. */
    resent(outcome: DeliveryOutcome, receipt: Receipt): Promise<boolean>;
    /** Gives up deliveries that were made before; at most `limit` at once. Says how many. */
    expire(before: Milliseconds, limit: number): Promise<number>;
    /** Deletes deliveries that were given up and made before; at most `limit` at once. Says how many. */
    deleteDead(before: Milliseconds, limit: number): Promise<number>;
    /** Webhooks for which something waits, in the order of their ids. */
    waiting(after: WebhookId | '', limit: number): Promise<readonly WebhookId[]>;
    /** Whether more than so many deliveries of a webhook are kept. */
    hasMoreThan(id: WebhookId, count: number): Promise<boolean>;
    /** An event, for a delivery that is made again. */
    event(id: EventId): Promise<ServiceEvent | undefined>;
    logEntry(id: WebhookLogId, scope: Scope): Promise<WebhookLog | undefined>;
    /** Newest first. */
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
    /** Deletes entries of the log from before; at most `limit` at once, the oldest first. Says how many. */
    deleteLog(before: Milliseconds, limit: number): Promise<number>;
  };
}

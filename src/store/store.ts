/**
 * The contract of the store in terms of the domain. Every engine passes the suite in `store.contract.ts`.
 *
 * Every write resolves only after it is durable. Concurrent writes may share one commit. Every call rejects with
 * `MillraceError('store_unavailable')` when the store is down, its queue is full or its time limit has passed. In that case the call changes
 * nothing, now or later. When it is unknown whether a write happened, it rejects with `outcome_unknown` instead. Repeat such a write only if
 * repeating it is harmless. The store recovers by itself. No call blocks the event loop.
 *
 * Where several processes share the database, some calls take the node that writes. What they report about live media is accepted only from
 * the node that claimed the stream last, and only while the process holds the lease of that node (`docs/decisions/0014-who-may-write.md`).
 * Such a call returns false when the stream or session belongs to another node by now, and rejects with `store_unavailable` while the lease
 * has run out. In both cases nothing has changed.
 */
import type { AuditEntry } from '#domain/audit.ts';
import type { BrowserSession, SignInLink } from '#domain/browser-session.ts';
import type { EventType, NewStreamEvent, ServiceEvent } from '#domain/events.ts';
import type { HealthSample } from '#domain/health-sample.ts';
import type {
  ApiKeyId,
  BrowserSessionId,
  MediaPath,
  NodeId,
  PlaybackId,
  SessionId,
  SigningKeyId,
  StreamId,
  UserId,
} from '#domain/ids.ts';
import type { NodeState, ServiceNode } from '#domain/node.ts';
import type { QuotaChange } from '#domain/quotas.ts';
import type { Secret } from '#domain/secret.ts';
import type { Session, SessionPhase } from '#domain/session.ts';
import type { SigningKey } from '#domain/signing-key.ts';
import type { Stream } from '#domain/stream.ts';
import type { HourOfUsage, UsageSum } from '#domain/usage.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { Soon } from '#lib/soon.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { StoreAnnouncement } from './announcement.ts';
import type { AssetStore } from './asset-store.ts';
import type { Page, PageOptions, Scope } from './page.ts';
import type { IdempotencyClaim, IdempotencyState, Receipt } from './receipt.ts';
import type { RowLimit } from './row-quota.ts';
import type { WebhookStore } from './webhook-store.ts';

/** The times by which records can be ordered. */
export const LIST_ORDERS = ['createdAt', 'lastSeen'] as const;
/** A value of {@link LIST_ORDERS}. */
export type ListOrder = (typeof LIST_ORDERS)[number];

/** Conditions for the listed records, all of which must hold. Each is answered from an index, except the name. */
export interface ListFilter {
  readonly id?: string;
  readonly playbackId?: PlaybackId;
  readonly isActive?: boolean;
  /**
   * Part of the name, in any letter case, with at least one character. No index leads to names: a page ends after at most 100,000 rows were
   * compared, so it may have fewer rows than its limit, even none, although there is a next page.
   */
  readonly name?: string;
  /** For streams only. */
  readonly creatorId?: string;
  /** The stream of the sessions. For sessions only. */
  readonly parentId?: StreamId;
  /** For sessions only. */
  readonly record?: boolean;
  /** Bounds of the time by which the list is ordered, both included. */
  readonly from?: Milliseconds;
  readonly to?: Milliseconds;
}

/** The options of a list of streams or sessions. */
export interface ListOptions extends PageOptions {
  readonly order: ListOrder;
  /** With `desc`, the newest come first. */
  readonly direction: 'asc' | 'desc';
  readonly filter: ListFilter;
}

/** The fields that may change on a stream. Absent keys leave a field as it is, and `undefined` empties it. */
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

/** The fields that may change on a session. Absent keys leave a field as it is. */
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

/** The fields that may change on a signing key. Absent keys leave a field as it is. */
export type SigningKeyChange = Partial<Pick<SigningKey, 'name' | 'disabled'>>;

/**
 * The fields that may change on a user. Absent keys leave a field as it is. Quotas change independently of each other, also concurrently.
 */
export type UserChange = Partial<Pick<User, 'name' | 'isAdmin' | 'suspended'>> & { readonly quotas?: QuotaChange };

/** Conditions for the listed events, all of which must hold. Each combination is answered from an index. */
export interface EventFilter {
  /** Requires the scope of a user, or `streamId`. */
  readonly type?: EventType;
  readonly streamId?: StreamId;
  /** Bounds of the time at which events were numbered, both included, by the database's clock. */
  readonly from?: Milliseconds;
  readonly to?: Milliseconds;
}

/** Milliseconds that the hash of a stream's replaced key is kept. */
export const FORMER_KEYS_KEPT_MS = 24 * 3600 * 1000;

/** The number of revoked API keys that are kept of each user, so that nobody fills the store by creating keys and revoking them. */
export const REVOKED_KEYS_KEPT = 100;

/** A sample that is kept with its session. */
export interface SessionSample {
  readonly sessionId: SessionId;
  readonly sample: HealthSample;
}

/** Which usage is summed, and how. */
export interface UsageQuery {
  /** Bounds of the hours that are summed: `from` is included, `to` is not. */
  readonly from: Milliseconds;
  readonly to: Milliseconds;
  /** The length of the spans that sums are made for, in milliseconds: a number of hours. Spans begin at multiples of it. */
  readonly stepMs: number;
  /** Makes a sum for each stream or user. Without it, all are summed together. */
  readonly by?: 'stream' | 'user';
  /** Sums only the usage of this stream. */
  readonly streamId?: StreamId;
  /** The largest number of sums. */
  readonly limit: number;
}

/** A browser session with its user and the key it was made with. */
export interface OpenBrowserSession {
  readonly session: BrowserSession;
  readonly user: User;
  /** Undefined for a session that was made with a link. */
  readonly key: ApiKey | undefined;
}

/**
 * The records that must last.
 *
 * Lookups by names that anybody can invent take the address of the stranger who causes them, so that networks take turns and none delays
 * the others. The address is left out when no stranger causes the lookup. A text that is not an address counts as a network of its own.
 */
export interface Store extends AsyncDisposable {
  /** Whether other processes may use the same database at the same time. */
  readonly isShared: boolean;
  /**
   * Calls the listener with the announcements of this and other processes, each after its commit. The order of one process is preserved.
   * After an outage of the database, `missed` is delivered in place of what may have been lost. The listener must not throw.
   */
  listen(listener: (announcement: StoreAnnouncement) => void): Disposable;
  /** Announces to all processes, including this one. Resolves once the announcement is sent. */
  announce(announcement: StoreAnnouncement): Promise<void>;

  readonly users: {
    /** The user with the name of this one, who is created if there is none. */
    ensure(user: User): Promise<User>;
    /** Creates a user. @throws {MillraceError} `conflict` when the name is taken */
    create(user: User, receipt: Receipt): Promise<void>;
    get(id: UserId): Promise<User | undefined>;
    /** The users with these ids, in any order. Ids without a user are left out. */
    getMany(ids: readonly UserId[]): Promise<readonly User[]>;
    byName(name: string): Promise<User | undefined>;
    /** Lists users, newest first. */
    list(page: PageOptions): Promise<Page<User>>;
    /**
     * Changes a user, and announces `user_changed`. Returns whether there is such a user.
     * @throws {MillraceError} `conflict` when the name is taken, or no active admin would be left
     */
    change(id: UserId, change: UserChange, receipt: Receipt): Promise<boolean>;
  };

  readonly apiKeys: {
    /** Creates a key. @throws {MillraceError} `conflict` when the user has an unrevoked key with this name, `quota_exceeded` */
    create(key: ApiKey, receipt: Receipt, limit?: RowLimit): Promise<void>;
    /**
     * Creates the key, and the user if no user has this name, in one transaction, unless the store has any key. Returns whether it created
     * the key.
     */
    createFirst(user: User, key: ApiKey, receipts: readonly Receipt[]): Promise<boolean>;
    /**
     * The unrevoked key with this SHA-256 (lower-case hex) and its user. A key that another process revoked is not found from then on.
     * @param stranger the address of a client whose key is not known to be valid. In that case the result is always a promise
     */
    byHash(secretHash: string, stranger?: string): Soon<{ readonly key: ApiKey; readonly user: User } | undefined>;
    /** An unrevoked key. */
    get(id: ApiKeyId, scope: Scope): Promise<ApiKey | undefined>;
    /** The unrevoked keys of a user, newest first. */
    ofUser(user: UserId, page: PageOptions): Promise<Page<ApiKey>>;
    /** Counts a user's unrevoked keys up to `atMost`. */
    countOf(user: UserId, atMost: number): Promise<number>;
    /** Whether there is any key, revoked ones included. */
    exist(): Promise<boolean>;
    /** Whether any key was ever used or revoked. */
    wereUsed(): Promise<boolean>;
    /** All keys, revoked ones included, oldest first. For the command line. */
    list(): Promise<readonly (ApiKey & { readonly userName: string })[]>;
    /**
     * Revokes a key, forgets its access rules, and ends the browser sessions that began with it. Of the user's revoked keys, only the newest
     * {@link REVOKED_KEYS_KEPT} are kept. Returns whether there was such an unrevoked key.
     */
    revoke(id: ApiKeyId, scope: Scope, receipt: Receipt): Promise<boolean>;
    /** Stores when keys were last used. A time is never set back. */
    seen(times: ReadonlyMap<ApiKeyId, Milliseconds>): Promise<void>;
  };

  /**
   * Browsers that are signed in. A session whose API key is revoked is not found, also when another process revoked the key. Whether one
   * has ended because of its age, and whether its user is suspended, is for the caller to check.
   */
  readonly browserSessions: {
    /** Creates a session. When the user has 100 that began with the same key, or 100 that began with links, the oldest of them ends. */
    create(session: BrowserSession, receipt: Receipt): Promise<void>;
    /** The session whose cookie has this SHA-256 (lower-case hex). */
    byHash(secretHash: string, stranger?: string): Promise<OpenBrowserSession | undefined>;
    byId(id: BrowserSessionId): Promise<OpenBrowserSession | undefined>;
    /** The sessions of a user, newest first, including those whose key is revoked. */
    ofUser(user: UserId, page: PageOptions): Promise<Page<BrowserSession>>;
    /** Stores when and from where a session was last used. The time is never set back. */
    seen(id: BrowserSessionId, at: Milliseconds, address: string): Promise<void>;
    /** Ends a session. Returns whether there was such a session. */
    end(id: BrowserSessionId, scope: Scope, receipt: Receipt): Promise<boolean>;
    /**
     * Deletes the sessions that have ended because of their age. Returns how many. Sessions of keys with rules stay until they are too old,
     * although they may have ended before.
     */
    deleteOver(now: Milliseconds): Promise<number>;
    /** Stores the sign-in link of a user, and makes an older link of the user invalid. */
    putLink(link: SignInLink, receipt: Receipt): Promise<void>;
    /** The link whose secret has this SHA-256 (lower-case hex), also when its time is over. */
    link(secretHash: string, stranger?: string): Promise<SignInLink | undefined>;
    /**
     * Uses a link up and creates the session, in one transaction. Returns false, and changes nothing, when the link was used or its time is
     * over.
     */
    useLink(link: SignInLink, session: BrowserSession, receipt: Receipt): Promise<boolean>;
  };

  readonly signingKeys: {
    /** Creates a key. @throws {MillraceError} `quota_exceeded` */
    create(key: SigningKey, receipt: Receipt, limit?: RowLimit): Promise<void>;
    get(id: SigningKeyId, scope: Scope): Promise<SigningKey | undefined>;
    /** The keys of a user, newest first. */
    ofUser(user: UserId, page: PageOptions): Promise<Page<SigningKey>>;
    /** Changes a key. Returns whether there is such a key. */
    change(id: SigningKeyId, scope: Scope, change: SigningKeyChange, receipt: Receipt): Promise<boolean>;
    /** Deletes a key. Returns whether there was such a key. */
    delete(id: SigningKeyId, scope: Scope, receipt: Receipt): Promise<boolean>;
  };

  /**
   * Deleted streams can only be found through {@link Store.sessions} and `getMany` with `all`. `forgetDeleted` later removes those that
   * were never published to, and leaves only the ids of the others, because their sessions refer to them.
   */
  readonly streams: {
    /**
     * Creates a stream. Stream keys are not checked to be unique, because they have 80 random bits.
     * @throws {MillraceError} `conflict` when the id or playback id is taken, `quota_exceeded`
     */
    create(stream: Stream, receipt: Receipt, limit?: RowLimit): Promise<void>;
    get(id: StreamId, scope: Scope): Soon<Stream | undefined>;
    /** The streams with these ids that exist, in any order. @param of `all` includes deleted streams */
    getMany(ids: readonly StreamId[], of?: 'all'): Promise<readonly Stream[]>;
    /** Of the streams with these ids, those that are suspended and not deleted. */
    suspendedAmong(ids: readonly StreamId[]): Promise<ReadonlySet<StreamId>>;
    /** All streams with `isActive`. @param node only those that this node claimed last, where processes share the store */
    active(node?: NodeId): Promise<readonly Stream[]>;
    byStreamKey(key: Secret, stranger?: string): Promise<Stream | undefined>;
    byPlaybackId(id: PlaybackId, stranger?: string): Promise<Stream | undefined>;
    /**
     * The stream that had this key until it was replaced, or the deleted stream with this key, if that was at `since` or later.
     * `replacedAt` is undefined for a deleted stream.
     */
    formerly(
      key: Secret,
      since: Milliseconds,
    ): Promise<{ readonly stream: Stream; readonly replacedAt: Milliseconds | undefined } | undefined>;
    /** Forgets keys that were replaced before a time, at most `limit` at once. Returns how many. */
    forgetFormerKeys(before: Milliseconds, limit: number): Promise<number>;
    list(scope: Scope, options: ListOptions): Promise<Page<Stream>>;
    count(scope: Scope, filter: ListFilter, order: ListOrder): Promise<number>;
    /** Counts a user's streams up to `atMost`, at a cost that depends only on `atMost`. */
    countOf(user: UserId, atMost: number): Promise<number>;
    /**
     * Changes a stream, and announces `stream_changed`. Returns whether there is such a stream.
     * @param when `idle` allows the change only while no media is received and no publisher is connected to a live node
     * @throws {MillraceError} `conflict` when `idle` is required and the stream is not idle
     */
    change(id: StreamId, scope: Scope, change: StreamChange, receipt: Receipt, when?: 'idle'): Promise<boolean>;
    /**
     * Counts one more termination, which disconnects every publisher that was accepted before it. Announces `stream_changed`.
     * @param notWithinMs refuses when the last termination was less than this long ago
     */
    terminate(
      id: StreamId,
      scope: Scope,
      options: { readonly at: Milliseconds; readonly notWithinMs: number },
      receipt: Receipt,
    ): Promise<'done' | 'not_found' | { readonly retryAfterMs: number }>;
    /**
     * Deletes all of the streams, or none when one does not exist. Returns whether it deleted them. Announces `stream_changed` for each.
     * @param ids without repeats @param receipts one for each id, in the same order
     */
    delete(ids: readonly StreamId[], scope: Scope, receipts: readonly Receipt[]): Promise<boolean>;
    /**
     * Forgets streams that were deleted before a time and have no recordings or clips, at most `limit` at once, the oldest first. Of a
     * stream that has been published to, the ids are kept. It counts as suspended, and has no stream key. Returns how many streams it
     * forgot.
     */
    forgetDeleted(before: Milliseconds, limit: number): Promise<number>;
    /**
     * Sets the activity of a stream. When `isActive` changes, the event `stream.started` or `stream.idle` is stored with it.
     * @param activity.at when the activity changed; now by default
     * @param writer the node that reports it, where processes share the store
     */
    setActivity(
      id: StreamId,
      activity: Pick<Stream, 'isActive' | 'lastSeen' | 'health'> & { readonly at?: Milliseconds | undefined },
      writer?: NodeId,
    ): Promise<boolean>;
  };

  readonly sessions: {
    /**
     * Creates a session, with the event `session.started`, and `session.ended` if it has ended, and the asset of its recording if it is
     * recorded. It may be repeated: a session that exists gets the fields that {@link SessionChange} names.
     * @param writer the node that the session runs on, where processes share the store
     * @param at when the session could first be watched; now by default
     */
    create(session: Session, writer?: NodeId, at?: Milliseconds): Promise<boolean>;
    /**
     * Creates the ended session of a recording that the operator adds to a stream, like {@link create}. When the session exists, only the
     * asset of its recording is created.
     */
    adopt(session: Session, receipt: Receipt): Promise<void>;
    get(id: SessionId, scope: Scope): Promise<Session | undefined>;
    /**
     * Changes a session. Returns false when there is no such session. The end of the session is stored with the event `session.ended`.
     * @param writer the node that the session runs on, where processes share the store; nothing changes once another node has ended it as
     *   `node_lost`
     */
    change(id: SessionId, change: SessionChange, writer?: NodeId): Promise<boolean>;
    /**
     * Resumes a session that other nodes may have ended as `node_lost` because they took its node for dead. Returns false, and changes
     * nothing, when another node has claimed the stream in the meantime.
     */
    resume(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange, writer: NodeId): Promise<boolean>;
    list(scope: Scope, options: ListOptions): Promise<Page<Session>>;
    count(scope: Scope, filter: ListFilter, order: ListOrder): Promise<number>;
    /**
     * The sessions of a node in these phases, oldest first, which a starting process must resume or end. In a store that is not shared, its
     * process owns every session.
     */
    ofNode(node: NodeId, phases: readonly Exclude<SessionPhase, 'ended'>[]): Promise<readonly Session[]>;
    /** The sessions of a stream that have not ended, oldest first. */
    openOf(stream: StreamId): Promise<readonly Session[]>;
    /**
     * The newest session of a playback id, with the node it runs on. Open sessions come first, because the clocks of two nodes may disagree
     * on the order.
     */
    newest(
      playbackId: PlaybackId,
      stranger?: string,
    ): Promise<{ readonly session: Session; readonly node: ServiceNode | undefined } | undefined>;
    /** The session with this path of its media, with the node it runs on. */
    byMediaPath(
      path: MediaPath,
      stranger?: string,
    ): Promise<{ readonly session: Session; readonly node: ServiceNode | undefined } | undefined>;
    /**
     * Deletes sessions that ended before a time, at most `limit` at once, the oldest first. A session whose recording exists is kept, and
     * may be kept for an hour longer. Returns how many, or `limit` when another call may find more: a call looks at a bounded number of
     * sessions, and may delete only samples of sessions that have many.
     */
    deleteEnded(before: Milliseconds, limit: number): Promise<number>;
    /** The users with a session that ended at this time or later, each once. */
    usersWithEnded(since: Milliseconds): Promise<readonly UserId[]>;
    /**
     * Deletes ended sessions of a user that are older than its newest `keep` ones, at most `limit` at once, the oldest first. A session whose
     * recording exists is kept. Returns the same as `deleteEnded`.
     */
    deleteBeyond(user: UserId, keep: number, limit: number): Promise<number>;
  };

  /**
   * Recordings and clips. A recorded session's asset is created with the session, becomes `storing` with the session's end, and has the
   * session's id. Deleted assets are only found by `getMany` with `all` and by the calls for deleting.
   *
   * Every change of a phase is stored with its event. Reports of what is recorded may be repeated and are ignored for deleted assets.
   */
  readonly assets: AssetStore;

  /** Samples of sessions. They are deleted with their session. */
  readonly samples: {
    /** Adds samples. It may be repeated. */
    add(samples: readonly SessionSample[]): Promise<void>;
    /** The samples of a session that end between two times, both included, oldest first. */
    list(
      session: SessionId,
      range: { readonly from: Milliseconds; readonly to: Milliseconds; readonly limit: number },
    ): Promise<readonly HealthSample[]>;
  };

  /** What streams used. */
  readonly usage: {
    /** Stores what processes counted. It replaces what the same process stored for the same hour and stream. It skips unknown streams. */
    count(hours: readonly HourOfUsage[]): Promise<void>;
    /** Sums usage, ordered by time. */
    sum(scope: Scope, query: UsageQuery): Promise<readonly UsageSum[]>;
    /** Deletes what was counted before a time, at most `limit` at once, the oldest first. Returns how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  /** The nodes that share the database. Times are those of the database, so that the clocks of nodes need not agree. */
  readonly nodes: {
    /**
     * Takes or renews the lease of a node until `leaseMs` from now. The first call adds the node. The first call of a process takes the lease
     * over from an earlier process of the node, and releases the publishers that were connected to that process. Returns whether the lease had
     * run out since the last call of this process.
     */
    renew(node: ServiceNode, leaseMs: number): Promise<{ readonly hadLapsed: boolean }>;
    /** Gives the lease up, because the node stops and has no connected publisher any more. */
    leave(id: NodeId): Promise<void>;
    /** A secret that only the nodes on this database know, the same for all. It is created at the first call. */
    clusterSecret(): Promise<Secret>;
    /** The time of the database's clock. */
    time(): Promise<Milliseconds>;
    /** All nodes, with what each owns. None where the store is not shared. */
    list(): Promise<readonly NodeState[]>;
    /** The nodes whose lease has run out and that have not been deleted, because other nodes have not ended their sessions yet. */
    lapsed(): Promise<readonly NodeId[]>;
    /**
     * Ends all that a node owned, if its lease has still run out: sessions as `node_lost`, streams idle, with their events. Then deletes
     * the node. Returns the ended sessions. No session ends before it was last seen, however early `at` is. It makes several writes. When one
     * fails, what the earlier ones have ended stays ended, and another call ends the rest.
     */
    endSessionsOf(id: NodeId, at: Milliseconds): Promise<readonly Session[]>;
  };

  /** The node that a stream's publisher is connected to, one at a time. */
  readonly publishers: {
    /**
     * Claims the stream for a node, unless a publisher is connected to another live node. A stream that is taken over from another node is
     * not active at first. Announces `stream_published`.
     * @throws {MillraceError} `store_unavailable`, also when this process does not hold the lease of the node
     */
    claim(stream: StreamId, node: NodeId): Promise<boolean>;
    /** Releases the stream, because its publisher on this node is gone. Does nothing when another node has claimed the stream. */
    release(stream: StreamId, node: NodeId): Promise<void>;
    /** The node that claimed each stream last, even if its publisher has gone since. */
    ownersOf(streams: readonly StreamId[]): Promise<ReadonlyMap<StreamId, NodeId>>;
  };

  /** Repeatable requests. */
  readonly idempotency: {
    /**
     * Claims a request for its first sender. A claim that is neither answered nor released can be taken over after `pendingMs`.
     * @param keepMs how long answers are kept
     */
    claim(
      claim: IdempotencyClaim,
      options: { readonly pendingMs: number; readonly keepMs: number },
    ): Promise<IdempotencyState>;
    /** Tells the state of a request without claiming it. Undefined when {@link claim} would claim it. */
    known(
      claim: IdempotencyClaim,
      options: { readonly pendingMs: number; readonly keepMs: number },
    ): Promise<IdempotencyState | undefined>;
    /** Releases the claim of a request that was refused and changed nothing, so that a repeat is carried out anew. */
    release(claim: IdempotencyClaim): Promise<void>;
    /** Deletes answers older than a time, at most `limit` at once. Returns how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  readonly audit: {
    /** Lists entries, newest first. */
    list(
      filter: { readonly userId?: UserId; readonly resourceId?: string },
      page: PageOptions,
    ): Promise<Page<AuditEntry>>;
    /** Deletes entries older than a time, at most `limit` at once, the oldest first. Returns how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  /**
   * Events, in the order of `sequence`. Most events are stored by the change they report, in `streams` and `sessions`.
   *
   * An event can be read once it is numbered. Numbers are given in the order in which events become readable, so a reader that continues
   * after a number misses none (`docs/decisions/0017-events-numbered-after-their-commit.md`).
   */
  readonly events: {
    /** Adds events that no stored change makes, about streams that exist or existed. It may be repeated. */
    add(events: readonly NewStreamEvent[]): Promise<void>;
    /**
     * Numbers up to `limit` events and creates their deliveries to webhooks, in one write, and then announces `events_added`. Returns how
     * many. Processes do this one at a time.
     */
    number(limit: number): Promise<number>;
    /** Whether events wait to be numbered. */
    areWaiting(): Promise<boolean>;
    /** Calls the listener when this process has stored events that wait to be numbered, or may have. */
    onUnnumbered(listener: () => void): Disposable;
    /** The last number given. 0 before the first event. */
    last(): Promise<number>;
    /** Lists numbered events. @param options.after lists only events that follow this number in the order of the list */
    list(
      scope: Scope,
      options: {
        readonly limit: number;
        /** With `asc`, the smallest number comes first. */
        readonly direction: 'asc' | 'desc';
        readonly after?: number | undefined;
        readonly filter: EventFilter;
      },
    ): Promise<readonly ServiceEvent[]>;
    /**
     * Whether the database's clock was ahead by more than `byMs`: events are numbered at such a time, because the times of the list never go
     * back, or a webhook is leased or waits for longer than it can be.
     */
    areAhead(byMs: number): Promise<boolean>;
    /**
     * Sets the times of events, deliveries and webhooks that are ahead of the database's clock to the present, at most `limit` of each kind
     * at once, and ends leases of webhooks that would last longer than `byMs`. Deliveries may wait for a day and `byMs`. The order of the list stays the same. Returns a number below
     * `limit` when nothing is left to do.
     */
    setBack(byMs: number, limit: number): Promise<number>;
    /** Deletes events that were numbered before a time, at most `limit` at once, the oldest first. Returns how many. */
    deleteOlder(before: Milliseconds, limit: number): Promise<number>;
  };

  /** URLs that events are sent to. A process delivers to a webhook while it holds the webhook's lease. Leases end with the process. */
  readonly webhooks: WebhookStore;
}

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
import type { ApiKeyId, MediaPath, NodeId, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import type { QuotaChange } from '#domain/quotas.ts';
import type { Secret } from '#domain/secret.ts';
import type { Session, SessionPhase } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Announcement } from './announcement.ts';

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

/** Which records are listed: those that meet all that is there. Each is answered from an index. */
export interface ListFilter {
  readonly id?: string;
  readonly playbackId?: PlaybackId;
  readonly isActive?: boolean;
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
    'name' | 'profiles' | 'suspended' | 'record' | 'creatorId' | 'userTags' | 'lastTerminatedAt' | 'streamKey'
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

/** What may change on a user; absent keys stay. Each quota changes by itself, whatever else changes at the same time. */
export type UserChange = Partial<Pick<User, 'name' | 'isAdmin' | 'suspended'>> & { readonly quotas?: QuotaChange };

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
  listen(listener: (announcement: Announcement) => void): Disposable;
  /** Tells all processes, this one included; resolves once it is on its way. */
  announce(announcement: Announcement): Promise<void>;

  readonly users: {
    /** The user of that name, made if there is none. */
    ensure(user: User): Promise<User>;
    /** @throws {MillraceError} `conflict` when the name is taken */
    create(user: User, receipt: Receipt): Promise<void>;
    get(id: UserId): Promise<User | undefined>;
    byName(name: string): Promise<User | undefined>;
    /** Oldest first. */
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

  /** Deleted streams are kept, so that no id or key is ever used again, but only {@link Store.sessions} still tells of them. */
  readonly streams: {
    /**
     * That no two streams have one key rests on the key's 80 random bits; nothing else is checked.
     * @throws {MillraceError} `conflict` when its id or playback id is taken, `quota_exceeded`
     */
    create(stream: Stream, receipt: Receipt, limit?: RowLimit): Promise<void>;
    get(id: StreamId, scope: Scope): Promise<Stream | undefined>;
    /** Those of `ids` that are there, in any order. */
    getMany(ids: readonly StreamId[]): Promise<readonly Stream[]>;
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
    /** Sets what live media says about the stream. @param writer the node that says so, where processes share the store */
    setActivity(
      id: StreamId,
      activity: Pick<Stream, 'isActive' | 'lastSeen' | 'health'>,
      writer?: NodeId,
    ): Promise<boolean>;
  };

  readonly sessions: {
    /**
     * Harmless twice: a session that is there already gets what {@link SessionChange} names.
     * @param writer the node it runs on, where processes share the store
     */
    create(session: Session, writer?: NodeId): Promise<boolean>;
    get(id: SessionId, scope: Scope): Promise<Session | undefined>;
    /**
     * Changes a session. Returns false when there is no such session.
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
     * Ends all that a node owned, if its lease is still out: sessions as `node_lost`, streams idle; and forgets the node. Says which
     * sessions. None ends before it was last seen, however early `at` is.
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
}

/**
 * The contract of the store, in the domain's words. Every engine passes the suite in `store.contract.ts`.
 *
 * Every write resolves only after it is durable; concurrent writes may share one commit. Every call rejects with
 * `MillraceError('store_unavailable')` when the store is away, its queue is full or its time limit has passed, and never
 * throws anything else for that. A write rejected so may still happen: repeat only what is harmless twice. The store heals
 * by itself. No call blocks the event loop.
 */
import type { ApiKeyId, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import type { Session, SessionPhase } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { Milliseconds } from '#lib/units.ts';

/** Where a list page ended: the key of its last row. */
export interface PageKey {
  readonly createdAt: Milliseconds;
  readonly id: string;
}

/** Part of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Where the next page starts; undefined when there is none. */
  readonly next: PageKey | undefined;
}

/** What may change on a session; absent keys stay. */
export type SessionChange = Partial<
  Pick<Session, 'phase' | 'lastSeen' | 'reconnectUntil' | 'endedAt' | 'endReason' | 'restarts' | 'codecs'>
>;

/** Everything that must last. */
export interface Store extends AsyncDisposable {
  readonly users: {
    /** The user of that name, made if there is none. */
    ensure(user: User): Promise<User>;
    byName(name: string): Promise<User | undefined>;
  };

  readonly apiKeys: {
    /** @throws {MillraceError} `conflict` when the user has an unrevoked key of that name */
    create(key: ApiKey): Promise<void>;
    /** Makes the user and its key when the store holds no key at all; says whether it did. Atomic. */
    createFirst(user: User, key: ApiKey): Promise<boolean>;
    /** The unrevoked key with that SHA-256 (lower-case hex). Sees at once what another process revoked. */
    byHash(secretHash: string): Promise<ApiKey | undefined>;
    /** All keys, revoked ones included, oldest first. For the command line. */
    list(): Promise<readonly (ApiKey & { readonly userName: string })[]>;
    /** Says whether there was such an unrevoked key. */
    revoke(id: ApiKeyId, at: Milliseconds): Promise<boolean>;
  };

  readonly streams: {
    /** @throws {MillraceError} `conflict` when its id, stream key or playback id is taken */
    create(stream: Stream): Promise<void>;
    get(id: StreamId, owner: UserId): Promise<Stream | undefined>;
    byStreamKey(key: Secret): Promise<Stream | undefined>;
    byPlaybackId(id: PlaybackId): Promise<Stream | undefined>;
    /** Newest first (`createdAt` descending, then `id` descending). @param limit 1..1000 */
    list(owner: UserId, options: { limit: number; after?: PageKey }): Promise<Page<Stream>>;
    /** Sets what live media says of it. */
    setActivity(id: StreamId, activity: { isActive: boolean; lastSeen: Milliseconds }): Promise<void>;
  };

  readonly sessions: {
    /** Harmless twice: a session that is there already gets what {@link SessionChange} names. */
    create(session: Session): Promise<void>;
    get(id: SessionId, owner: UserId): Promise<Session | undefined>;
    /** Does nothing when there is no such session. */
    change(id: SessionId, change: SessionChange): Promise<void>;
    /** Every session in one of these phases, oldest first: what a starting process must take up or end. */
    inPhases(phases: readonly SessionPhase[]): Promise<readonly Session[]>;
  };
}

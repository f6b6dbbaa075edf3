/**
 * Looks up what playback rights depend on: a stream's policy, and the signing keys of its owner. The result is remembered for a moment, so
 * that a change takes effect on every node within seconds. While the store is down, the last result is used.
 */
import { isOver } from '#domain/browser-session.ts';
import type { ApiKeyId, BrowserSessionId, PlaybackId, UserId } from '#domain/ids.ts';
import type { OwnerCredential } from '#domain/owner-token.ts';
import type { SigningKey } from '#domain/signing-key.ts';
import type { User } from '#domain/user.ts';
import type { Clock } from '#lib/clock.ts';
import type { LiveDirectory, WatchedStream } from '#live/live.ts';
import { Remembered } from '#origin/remembered.ts';
import type { Store } from '#store/store.ts';

/** How long a policy or a list of keys is used before it is read again. */
const KEPT_MS = 1000;
/** The number of keys that are read. Users have no more, unless several processes created some at the same moment. */
const MAX_KEYS = 100;

/** The options of a {@link RightsDirectory}. */
export interface RightsDirectoryOptions {
  readonly live: Pick<LiveDirectory, 'watchedStream'>;
  readonly store: Pick<Store, 'streams' | 'signingKeys' | 'apiKeys' | 'browserSessions' | 'users'>;
  readonly clock: Clock;
}

/** Finds policies and keys. */
export class RightsDirectory {
  readonly #live: RightsDirectoryOptions['live'];
  readonly #streams: Remembered<PlaybackId, WatchedStream | undefined>;
  readonly #keys: Remembered<UserId, readonly SigningKey[]>;
  /** The users of credentials, by the id of the API key or browser session. */
  readonly #users: Remembered<string, User | undefined>;
  readonly #options: RightsDirectoryOptions;

  constructor(options: RightsDirectoryOptions) {
    const { live, store, clock } = options;
    this.#options = options;
    this.#live = live;
    const keptForMs = () => KEPT_MS;
    this.#streams = new Remembered({
      ask: async (id): Promise<WatchedStream | undefined> => await store.streams.byPlaybackId(id),
      keptForMs,
      clock,
    });
    this.#keys = new Remembered({
      ask: async (userId) => (await store.signingKeys.ofUser(userId, { limit: MAX_KEYS })).rows,
      keptForMs,
      clock,
    });
    this.#users = new Remembered({ ask: (name) => this.#findUser(name), keptForMs, clock });
  }

  /**
   * The stream of a playback id that is known to exist. Undefined when it was deleted. Sessions on this node follow every change by
   * themselves, so for them the store is not asked.
   * @throws {MillraceError} `store_unavailable`
   */
  async stream(playbackId: PlaybackId): Promise<WatchedStream | undefined> {
    return this.#live.watchedStream(playbackId) ?? (await this.#streams.get(playbackId));
  }

  /** The signing keys of a user. @throws {MillraceError} `store_unavailable` */
  keysOf(userId: UserId): Promise<readonly SigningKey[]> {
    return this.#keys.get(userId);
  }

  /**
   * Whether a credential is still that of a user or of an admin, so that its owner tokens are valid for what the user owns.
   * @throws {MillraceError} `store_unavailable`
   */
  async isOwner(credential: OwnerCredential, userId: UserId): Promise<boolean> {
    const user = await this.#users.get('keyId' in credential ? `k${credential.keyId}` : `b${credential.sessionId}`);
    return user !== undefined && !user.suspended && (user.id === userId || user.isAdmin);
  }

  /** The user of a credential that is valid now. @param name `k` and the id of an API key, or `b` and that of a browser session */
  async #findUser(name: string): Promise<User | undefined> {
    const { store, clock } = this.#options;
    const id = name.slice(1);
    if (name.startsWith('b')) {
      const open = await store.browserSessions.byId(id as BrowserSessionId);
      return open === undefined || isOver(open, clock.now()) ? undefined : open.user;
    }
    const key = await store.apiKeys.get(id as ApiKeyId, 'everyone');
    return key && (await store.users.get(key.userId));
  }
}

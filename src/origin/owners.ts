/**
 * Finds the node that has the stream a viewer asks for.
 */
import type { MediaPath, NodeId, PlaybackId, UserId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Clock } from '#lib/clock.ts';
import { originOf } from '#lib/origin-of.ts';
import type { ViewerQuota } from '#live/viewers.ts';
import type { Store } from '#store/store.ts';
import { Remembered } from './remembered.ts';
import { UnknownNames } from './unknown-names.ts';

/** How long the answer for a playback id is valid. After that the stream may have moved to another node, or may have begun. */
const MOVES_AFTER_MS = 1000;
/** How long the answer for a media path is valid. A media path never moves, but the address of its node may change with a restart. */
const STAYS_FOR_MS = 10_000;
/** How long a user's quota is remembered. An admin's change takes effect after this time. */
const QUOTA_KEPT_MS = 10_000;
/** The largest difference between the clocks of two machines that is allowed for. */
const CLOCKS_DIFFER_MS = 10_000;

type Found = NonNullable<Awaited<ReturnType<Store['sessions']['newest']>>>;

/** A node that has a session. */
export interface Owner {
  /** The URL of the node's HTTP interface, without a path. */
  readonly origin: string;
  /** The viewer quota of the stream's user. */
  readonly quota: ViewerQuota;
}

/** The options of {@link Owners}. */
export interface OwnersOptions {
  readonly store: Store;
  /** The id of this node. */
  readonly nodeId: NodeId;
  /** How long a session can be watched after its end. */
  readonly keptForMs: number;
  /** The quotas of users for whom an admin has set none. */
  readonly quotas: Quotas;
  readonly clock: Clock;
}

/**
 * Looks owners up in the store, and remembers them. While the store is down, the last answer is used. {@link UnknownNames} remembers the
 * names that the store does not know, and limits how often they are looked up.
 */
export class Owners {
  readonly #options: OwnersOptions;
  readonly #playbackIds: Remembered<PlaybackId, Owner | undefined>;
  readonly #mediaPaths: Remembered<MediaPath, Owner | undefined>;
  readonly #viewersAtMost: Remembered<UserId, number>;
  readonly #unknown: UnknownNames<Owner | undefined>;

  constructor(options: OwnersOptions) {
    const { store, clock } = options;
    this.#options = options;
    this.#playbackIds = new Remembered({
      ask: async (id) => this.#ownerOf(await store.sessions.newest(id)),
      keptForMs: () => MOVES_AFTER_MS,
      clock,
    });
    this.#mediaPaths = new Remembered({
      ask: async (path) => this.#ownerOf(await store.sessions.byMediaPath(path)),
      // A path may have no owner only because its node was wrongly taken for dead.
      keptForMs: (owner) => (owner === undefined ? MOVES_AFTER_MS : STAYS_FOR_MS),
      clock,
    });
    this.#viewersAtMost = new Remembered({
      ask: (id) => this.#findViewersAtMost(id),
      keptForMs: () => QUOTA_KEPT_MS,
      clock,
    });
    this.#unknown = new UnknownNames({ keptForMs: MOVES_AFTER_MS, clock });
  }

  /**
   * Finds the node that has the newest session of a playback id, or the session of a media path. Undefined when that is this node, or none.
   * @param address the address of the viewer
   * @throws {MillraceError} `store_unavailable`; `too_many_viewers` when too many unknown names are requested
   */
  find(playbackId: PlaybackId, mediaPath: MediaPath | undefined, address: string): Promise<Owner | undefined> {
    const { sessions } = this.#options.store;
    return mediaPath === undefined
      ? this.#find(this.#playbackIds, playbackId, () => sessions.newest(playbackId, address), { kind: 'id', address })
      : this.#find(this.#mediaPaths, mediaPath, () => sessions.byMediaPath(mediaPath, address), {
          kind: 'path',
          address,
        });
  }

  /** Makes the next lookup ask the store again, because the node did not answer. */
  forget(playbackId: PlaybackId, mediaPath: MediaPath | undefined): void {
    this.#playbackIds.expire(playbackId);
    if (mediaPath !== undefined) this.#mediaPaths.expire(mediaPath);
  }

  /** Answers from memory for a name that was found before. Any other name is unknown until the store has it. */
  async #find<Name extends string>(
    remembered: Remembered<Name, Owner | undefined>,
    name: Name,
    look: () => Promise<Found | undefined>,
    { kind, address }: { readonly kind: 'id' | 'path'; readonly address: string },
  ): Promise<Owner | undefined> {
    if (remembered.has(name)) return await remembered.get(name);
    return await this.#unknown.look(`${kind} ${name}`, address, async () => {
      const found = await look();
      if (found === undefined) return undefined;
      const answer = await this.#ownerOf(found);
      remembered.set(name, answer);
      return { answer };
    });
  }

  async #ownerOf(found: Found | undefined): Promise<Owner | undefined> {
    const { nodeId, clock, keptForMs } = this.#options;
    if (found?.node === undefined || found.node.id === nodeId) return undefined;
    const { userId, endedAt, endReason } = found.session;
    const isGone = endReason === 'node_lost' || endReason === 'suspended' || endReason === 'deleted';
    if (isGone || clock.now() - (endedAt ?? Number.POSITIVE_INFINITY) > keptForMs + CLOCKS_DIFFER_MS) return undefined;
    const origin = originOf(found.node.url);
    return origin === undefined
      ? undefined
      : { origin, quota: { ofUser: userId, atMost: await this.#viewersAtMost.get(userId) } };
  }

  async #findViewersAtMost(userId: UserId): Promise<number> {
    const { store, quotas } = this.#options;
    const user = await store.users.get(userId);
    return user === undefined ? quotas.viewers : quotasOf(user, quotas).viewers;
  }
}

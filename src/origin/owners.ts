/**
 * Which other node has what a viewer asks for.
 */
import type { MediaPath, NodeId, PlaybackId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { originOf } from '#live/node-url.ts';
import type { Store } from '#store/store.ts';
import { Remembered } from './remembered.ts';

/** What a playback id shows may have moved to another node after so long; and what was nowhere may be somewhere. */
const MOVES_AFTER_MS = 1000;
/** A media path stays where it is; only its node's address may change, with a restart. */
const STAYS_FOR_MS = 10_000;
/** What clocks of two machines may differ by. */
const CLOCKS_DIFFER_MS = 10_000;

type Found = Awaited<ReturnType<Store['sessions']['newest']>>;

/** What looking owners up takes. */
export interface OwnersOptions {
  readonly store: Store;
  /** This process. */
  readonly nodeId: NodeId;
  /** How long a session can be watched after its end. */
  readonly keptForMs: number;
  readonly clock: Clock;
}

/** Looks owners up in the store, and remembers them. While the store is away, what was found last is taken as still true. */
export class Owners {
  readonly #options: OwnersOptions;
  readonly #playbackIds: Remembered<PlaybackId, string | undefined>;
  readonly #mediaPaths: Remembered<MediaPath, string | undefined>;

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
      // Nowhere it may be only because its node was taken for dead.
      keptForMs: (origin) => (origin === undefined ? MOVES_AFTER_MS : STAYS_FOR_MS),
      clock,
    });
  }

  /**
   * The origin of the node that has what the playback id shows, or the session of that path. Undefined when this one has, or none.
   * @throws {MillraceError} `store_unavailable`
   */
  find(playbackId: PlaybackId, mediaPath: MediaPath | undefined): Promise<string | undefined> {
    return mediaPath === undefined ? this.#playbackIds.get(playbackId) : this.#mediaPaths.get(mediaPath);
  }

  /** That node did not answer: look where it is the next time. */
  forget(playbackId: PlaybackId, mediaPath: MediaPath | undefined): void {
    this.#playbackIds.expire(playbackId);
    if (mediaPath !== undefined) this.#mediaPaths.expire(mediaPath);
  }

  #ownerOf(found: Found): string | undefined {
    const { nodeId, clock, keptForMs } = this.#options;
    if (found?.node === undefined || found.node.id === nodeId) return undefined;
    const { endedAt, endReason } = found.session;
    const isGone = endReason === 'node_lost' || endReason === 'suspended' || endReason === 'deleted';
    if (isGone || clock.now() - (endedAt ?? Number.POSITIVE_INFINITY) > keptForMs + CLOCKS_DIFFER_MS) return undefined;
    return originOf(found.node.url);
  }
}

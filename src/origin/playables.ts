/**
 * Finds streams, recordings and clips for the player page and for `GET /playback`, which anybody may ask: by playback ids, and recordings
 * also by the ids of their sessions.
 */
import { type AssetId, isPlaybackId, isUuid, type PlaybackId, type UserId } from '#domain/ids.ts';
import type { Playable } from '#domain/playable.ts';
import { isRestricted, type PlaybackPolicy } from '#domain/playback-policy.ts';
import type { Stream } from '#domain/stream.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Store } from '#store/store.ts';
import { UnknownNames } from './unknown-names.ts';

/** How long an id that was not found is taken to be unknown, in milliseconds. */
const UNKNOWN_FOR_MS = 1000;
/** The number of ids that are remembered because they were found. */
const MAX_KNOWN = 10_000;

/** The options of {@link Playables}. */
export interface PlayablesOptions {
  readonly live: Pick<LiveDirectory, 'watchedStream'>;
  readonly store: {
    readonly streams: Pick<Store['streams'], 'byPlaybackId' | 'getMany'>;
    readonly assets: Pick<Store['assets'], 'byPlaybackId'>;
    readonly users: Pick<Store['users'], 'get'>;
  };
  readonly clock: Clock;
}

/** Who may watch a stream or asset, and what everybody may know of it. */
export interface PlayableRights {
  /** Undefined when everybody may watch. */
  readonly playbackPolicy: PlaybackPolicy | undefined;
  /** The name. Undefined when viewers need a right, and when the stream or asset is suspended. */
  readonly publicName: string | undefined;
}

/**
 * Looks ids up in the store. An id that was found before is looked up again at every request, so its answer is never out of date. Lookups
 * of all other ids are limited; see {@link UnknownNames}.
 */
export class Playables {
  readonly #options: PlayablesOptions;
  /** The ids that were found. */
  readonly #known = new BoundedMap<string, true>(MAX_KNOWN);
  readonly #unknown: UnknownNames<Playable>;

  constructor(options: PlayablesOptions) {
    this.#options = options;
    this.#unknown = new UnknownNames({ keptForMs: UNKNOWN_FOR_MS, clock: options.clock });
  }

  /**
   * Finds the stream or asset with this id. Undefined when there is none. It may be suspended, and an asset may have failed.
   * @param address the address of the viewer
   * @throws {MillraceError} `store_unavailable`; `too_many_viewers` when too many unknown ids are requested
   */
  async find(id: string, address: string): Promise<Playable | undefined> {
    if (!(isPlaybackId(id) || isUuid(id))) return undefined;
    if (this.#known.has(id)) {
      const found = await this.#look(id, address);
      if (found === undefined) this.#known.delete(id);
      return found;
    }
    return await this.#unknown.look(id, address, async () => {
      const answer = await this.#look(id, address);
      if (answer === undefined) return undefined;
      this.#known.set(id, true);
      return { answer };
    });
  }

  /**
   * Finds who may watch the stream or asset with this id. Undefined when there is none.
   * @throws {MillraceError} the same as {@link find}
   */
  async rightsOf(id: string, address: string): Promise<PlayableRights | undefined> {
    const watched = isPlaybackId(id) ? this.#options.live.watchedStream(id) : undefined;
    if (watched !== undefined) return rights(watched, watched.playbackPolicy, watched.suspended);
    const found = await this.find(id, address);
    if (found === undefined) return undefined;
    const { stream, isSuspended } = found;
    if (found.kind === 'stream') return rights(found.stream, found.stream.playbackPolicy, isSuspended);
    return rights(found.asset, found.asset.playbackPolicy ?? stream?.playbackPolicy, isSuspended);
  }

  async #look(id: string, address: string): Promise<Playable | undefined> {
    const { streams, assets } = this.#options.store;
    if (isPlaybackId(id)) {
      const stream = await streams.byPlaybackId(id, address);
      if (stream !== undefined) {
        return { kind: 'stream', stream, isSuspended: await this.#isSuspended(stream, stream.userId) };
      }
    }
    const asset = await assets.byPlaybackId(id as AssetId | PlaybackId, address);
    if (asset === undefined) return undefined;
    const [stream] = await streams.getMany([asset.streamId], 'all');
    return { kind: 'asset', asset, stream, isSuspended: await this.#isSuspended(stream, asset.userId) };
  }

  async #isSuspended(stream: Stream | undefined, userId: UserId): Promise<boolean> {
    if (stream?.suspended) return true;
    return (await this.#options.store.users.get(userId))?.suspended === true;
  }
}

function rights(
  { name }: { readonly name: string },
  playbackPolicy: PlaybackPolicy | undefined,
  isSuspended: boolean,
): PlayableRights {
  return { playbackPolicy, publicName: isSuspended || isRestricted(playbackPolicy) ? undefined : name };
}

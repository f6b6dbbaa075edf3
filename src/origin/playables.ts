/**
 * Finds what the player page and the API tell everybody about: streams and recordings by their playback ids, and recordings by the ids of
 * their sessions.
 */
import { type AssetId, isPlaybackId, isUuid, type PlaybackId } from '#domain/ids.ts';
import type { Playable } from '#domain/playable.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Store } from '#store/store.ts';
import { UnknownNames } from './unknown-names.ts';

/** How long an id that was not found is taken to be unknown. */
const UNKNOWN_FOR_MS = 1000;
/** The number of ids that are remembered because they were found. */
const MAX_KNOWN = 10_000;

/** The options of {@link Playables}. */
export interface PlayablesOptions {
  readonly live: Pick<LiveDirectory, 'watchedStream'>;
  readonly store: {
    readonly streams: Pick<Store['streams'], 'byPlaybackId' | 'getMany'>;
    readonly assets: Pick<Store['assets'], 'byPlaybackId'>;
  };
  readonly clock: Clock;
}

/**
 * Looks ids up in the store. The answer is as new as the store's. Ids that were found before are looked up at every request, and lookups of
 * others are limited; see {@link UnknownNames}.
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
   * What has this id. Undefined when nothing does. It may be suspended, or may have failed.
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
   * The policy of what has this id; undefined in it, everybody may watch. Undefined when nothing has the id.
   * @throws {MillraceError} like {@link find}
   */
  async rightsOf(
    id: string,
    address: string,
  ): Promise<{ readonly playbackPolicy: PlaybackPolicy | undefined } | undefined> {
    const watched = isPlaybackId(id) ? this.#options.live.watchedStream(id) : undefined;
    if (watched !== undefined) return watched;
    const found = await this.find(id, address);
    if (found?.kind !== 'asset') return found?.stream;
    return { playbackPolicy: found.asset.playbackPolicy ?? found.stream?.playbackPolicy };
  }

  async #look(id: string, address: string): Promise<Playable | undefined> {
    const { streams, assets } = this.#options.store;
    if (isPlaybackId(id)) {
      const stream = await streams.byPlaybackId(id, address);
      if (stream !== undefined) return { kind: 'stream', stream };
    }
    const asset = await assets.byPlaybackId(id as AssetId | PlaybackId, address);
    if (asset === undefined) return undefined;
    const [stream] = await streams.getMany([asset.streamId], 'all');
    return { kind: 'asset', asset, stream };
  }
}

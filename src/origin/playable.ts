/**
 * Finds what the player page can show: streams and recordings by their playback ids, and recordings by the ids of their sessions.
 */
import { type AssetId, isPlaybackId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Store } from '#store/store.ts';

/** A stream or recording, with the properties on which the headers of its page depend. */
export interface Playable {
  /** Who may watch. Undefined: everybody. */
  readonly playbackPolicy: PlaybackPolicy | undefined;
}

/** Where {@link findPlayable} looks. */
export interface PlayableSources {
  readonly live: Pick<LiveDirectory, 'watchedStream'>;
  readonly store: {
    readonly streams: Pick<Store['streams'], 'byPlaybackId' | 'getMany'>;
    readonly assets: Pick<Store['assets'], 'byPlaybackId' | 'getMany'>;
  };
}

/**
 * Finds the stream or recording of a playback id, or the recording of a session's id. Undefined when there is none.
 * @throws {MillraceError} `store_unavailable`
 */
export async function findPlayable(id: string, { live, store }: PlayableSources): Promise<Playable | undefined> {
  if (isPlaybackId(id)) {
    const stream = live.watchedStream(id) ?? (await store.streams.byPlaybackId(id));
    if (stream !== undefined) return stream;
  }
  const asset = isPlaybackId(id)
    ? await store.assets.byPlaybackId(id)
    : (await store.assets.getMany([id as AssetId]))[0];
  if (asset?.playbackPolicy !== undefined) return asset;
  return asset && (await store.streams.getMany([asset.streamId], 'all'))[0];
}

/**
 * What can be opened in the player page: streams and recordings, by their playback ids.
 */
import { type AssetId, isPlaybackId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Store } from '#store/store.ts';

/** A stream or recording, as far as the page of it depends on it. */
export interface Playable {
  /** Who may watch. Undefined: everybody. */
  readonly playbackPolicy: PlaybackPolicy | undefined;
}

/** What {@link findPlayable} asks. */
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

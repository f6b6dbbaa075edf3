/**
 * What viewers can be shown: a stream, or a recording or clip.
 */
import type { Asset } from './asset.ts';
import type { Stream } from './stream.ts';

/** What an id stands for: the playback id of a stream, the playback id of a recording or clip, or the id of a recorded session. */
export type Playable = (
  | { readonly kind: 'stream'; readonly stream: Stream }
  /** `stream` is the stream that the asset was made of, also when it is deleted. */
  | { readonly kind: 'asset'; readonly asset: Asset; readonly stream: Stream | undefined }
) & {
  /** Whether the stream or its user is suspended. Nothing can be watched then. */
  readonly isSuspended: boolean;
};

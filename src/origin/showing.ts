/**
 * What viewers are shown of a session, by the same interface whether it runs at this node or at another.
 */
import type { MediaAnswer, PlaylistAnswer, PlaylistDirectives, Waiting } from '#hls/hls.ts';
import type { Watchable } from '#live/live.ts';
import type { ViewerQuota } from '#live/viewers.ts';

/** An answer; when it comes from another node, with the `Cache-Control` that node gave it. */
export type Shown<Answer> = Answer & { readonly cacheControl?: string };

/** The answer to a request for a thumbnail. */
export type ThumbnailAnswer = { readonly type: 'jpeg'; readonly bytes: Uint8Array } | { readonly type: 'not_found' };

/** What viewers can ask of a session. Each answer is waited for as `Waiting` in `hls/hls.ts` says. */
export interface Showing {
  multivariant(waiting: Waiting): Promise<Shown<PlaylistAnswer>>;
  playlist(rendition: string, directives: PlaylistDirectives, waiting: Waiting): Promise<Shown<PlaylistAnswer>>;
  media(rendition: string, name: string, waiting: Waiting): Promise<Shown<MediaAnswer>>;
  thumbnail(waiting: Waiting): Promise<Shown<ThumbnailAnswer>>;
  /** The quota that its viewers count against; undefined for a session that runs here, whose quota `live` knows. */
  readonly quota: ViewerQuota | undefined;
}

/** Shows a session that runs at this node. */
export class ShowingHere implements Showing {
  readonly quota = undefined;
  readonly #watchable: Watchable;

  constructor(watchable: Watchable) {
    this.#watchable = watchable;
  }

  multivariant(waiting: Waiting): Promise<PlaylistAnswer> {
    return this.#watchable.presentation.multivariant(waiting);
  }

  playlist(rendition: string, directives: PlaylistDirectives, waiting: Waiting): Promise<PlaylistAnswer> {
    return this.#watchable.presentation.playlist(rendition, directives, waiting);
  }

  media(rendition: string, name: string, waiting: Waiting): Promise<MediaAnswer> {
    return this.#watchable.presentation.media(rendition, name, waiting);
  }

  async thumbnail(): Promise<ThumbnailAnswer> {
    const { thumbnail } = this.#watchable;
    return thumbnail === undefined ? { type: 'not_found' } : { type: 'jpeg', bytes: thumbnail };
  }
}

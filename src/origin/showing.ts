/**
 * What viewers can be served of a session. The interface is the same whether the session runs on this node or on another.
 */
import type { MediaAnswer, PlaylistAnswer, PlaylistDirectives, Waiting } from '#hls/hls.ts';
import type { Watchable } from '#live/live.ts';
import type { ViewerQuota } from '#live/viewers.ts';

/** An answer. When it comes from another node, it has the `Cache-Control` of that node. */
export type Shown<Answer> = Answer & { readonly cacheControl?: string };

/** The answer to a request for a thumbnail. */
export type ThumbnailAnswer = { readonly type: 'jpeg'; readonly bytes: Uint8Array } | { readonly type: 'not_found' };

/** What viewers can request of a session. Each answer is waited for as `Waiting` in `hls/hls.ts` describes. */
export interface Showing {
  /** The multivariant playlist. */
  multivariant(waiting: Waiting): Promise<Shown<PlaylistAnswer>>;
  /** The media playlist of a rendition. */
  playlist(rendition: string, directives: PlaylistDirectives, waiting: Waiting): Promise<Shown<PlaylistAnswer>>;
  /** An init segment, segment or part by its name in a playlist. */
  media(rendition: string, name: string, waiting: Waiting): Promise<Shown<MediaAnswer>>;
  /** The newest thumbnail. */
  thumbnail(waiting: Waiting): Promise<Shown<ThumbnailAnswer>>;
  /** The quota that its viewers count against. Undefined for a session on this node, whose quota `live` knows. */
  readonly quota: ViewerQuota | undefined;
}

/** Serves a session that runs on this node. */
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

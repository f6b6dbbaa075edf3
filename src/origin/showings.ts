/**
 * Finds what a viewer requests, on this node or on another one with the same database.
 */
import type { FastifyRequest } from 'fastify';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Peers } from './peers.ts';
import { type Showing, ShowingHere } from './showing.ts';
import type { ViewerNames } from './viewer.ts';

/** The options of {@link Showings}. */
export interface ShowingsOptions {
  readonly live: LiveDirectory;
  readonly viewers: ViewerNames;
  /** The other nodes. Undefined when this server is the only one. */
  readonly peers: Peers | undefined;
}

/** Finds every session that can be watched. */
export class Showings {
  readonly #options: ShowingsOptions;

  constructor(options: ShowingsOptions) {
    this.#options = options;
  }

  /**
   * The newest session of a playback id, or the session of a media path. Undefined when nothing is found. A request from another node is
   * answered only with the sessions of this node, and never passed on.
   * @throws {MillraceError} `store_unavailable`; `too_many_viewers` when too many unknown names are requested
   */
  async find(request: FastifyRequest, playbackId: PlaybackId, mediaPath?: MediaPath): Promise<Showing | undefined> {
    const { live, viewers, peers } = this.#options;
    const watchable = mediaPath === undefined ? live.watch(playbackId) : live.watchPath(playbackId, mediaPath);
    const here = watchable && new ShowingHere(watchable);
    // A stream whose session ended on this node may continue on another one. The media of one session never moves.
    if (watchable !== undefined && (mediaPath !== undefined || watchable.phase !== 'ended')) return here;
    if (peers === undefined || viewers.told(request, playbackId) !== undefined) return here;
    return (await peers.find({ playbackId, mediaPath, address: request.ip })) ?? here;
  }
}

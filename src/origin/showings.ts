/**
 * Finds what a viewer asks for: at this node, or at another on the same database.
 */
import type { FastifyRequest } from 'fastify';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Peers } from './peers.ts';
import { type Showing, ShowingHere } from './showing.ts';
import type { ViewerNames } from './viewer.ts';

/** What finding takes. */
export interface ShowingsOptions {
  readonly live: LiveDirectory;
  readonly viewers: ViewerNames;
  /** The other nodes; undefined where there are none. */
  readonly peers: Peers | undefined;
}

/** Every session that can be watched. */
export class Showings {
  readonly #options: ShowingsOptions;

  constructor(options: ShowingsOptions) {
    this.#options = options;
  }

  /**
   * What a playback id shows, or the session of one media path. A request that another node sent is answered from what runs here, and
   * never sent on.
   * @throws {MillraceError} `store_unavailable`, `too_many_viewers`
   */
  async find(request: FastifyRequest, playbackId: PlaybackId, mediaPath?: MediaPath): Promise<Showing | undefined> {
    const { live, viewers, peers } = this.#options;
    const watchable = mediaPath === undefined ? live.watch(playbackId) : live.watchPath(playbackId, mediaPath);
    const here = watchable && new ShowingHere(watchable);
    // What ended here may go on elsewhere; the files of a session never move.
    if (watchable !== undefined && (mediaPath !== undefined || watchable.phase !== 'ended')) return here;
    if (peers === undefined || viewers.told(request, playbackId) !== undefined) return here;
    return (await peers.find({ playbackId, mediaPath, address: request.ip })) ?? here;
  }
}

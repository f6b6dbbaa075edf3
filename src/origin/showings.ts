/**
 * Finds what a viewer asks for: at this node, or at another on the same database.
 */
import type { FastifyRequest } from 'fastify';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Peers } from './peers.ts';
import { type Showing, ShowingHere } from './showing.ts';
import type { ViewerNames } from './viewer.ts';

/** What {@link Showings} is made with. */
export interface ShowingsOptions {
  readonly live: LiveDirectory;
  readonly viewers: ViewerNames;
  /** The other nodes; undefined when this server is the only one. */
  readonly peers: Peers | undefined;
}

/** Finds every session that can be watched. */
export class Showings {
  readonly #options: ShowingsOptions;

  constructor(options: ShowingsOptions) {
    this.#options = options;
  }

  /**
   * What a playback id shows, or the session of one media path; undefined when nothing is found. A request from another node is answered
   * from what runs here, and never passed on.
   * @throws {MillraceError} `store_unavailable`; `too_many_viewers` when too many unknown names are asked for
   */
  async find(request: FastifyRequest, playbackId: PlaybackId, mediaPath?: MediaPath): Promise<Showing | undefined> {
    const { live, viewers, peers } = this.#options;
    const watchable = mediaPath === undefined ? live.watch(playbackId) : live.watchPath(playbackId, mediaPath);
    const here = watchable && new ShowingHere(watchable);
    // A stream whose session ended here may go on at another node. The media of one session never moves.
    if (watchable !== undefined && (mediaPath !== undefined || watchable.phase !== 'ended')) return here;
    if (peers === undefined || viewers.told(request, playbackId) !== undefined) return here;
    return (await peers.find({ playbackId, mediaPath, address: request.ip })) ?? here;
  }
}

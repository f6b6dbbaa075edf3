/**
 * What the origin's routes share.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { Waiting } from '#hls/hls.ts';
import type { Audience } from '#live/live.ts';
import type { CacheControl } from './caching.ts';
import type { HeldRequests } from './held-requests.ts';
import type { PlaybackAdmission, PlaybackGate } from './rights/playback-gate.ts';
import { RestrictedPlaylists } from './rights/restricted-playlists.ts';
import type { Showings } from './showings.ts';
import type { ViewerNames } from './viewer.ts';

/** What an {@link OriginContext} is made with. */
export interface OriginContextOptions {
  readonly audience: Audience;
  readonly viewers: ViewerNames;
  readonly showings: Showings;
  readonly gate: PlaybackGate;
  readonly held: HeldRequests;
  readonly cacheControl: CacheControl;
}

/** What every route needs to answer. The plugin makes one and hands it to each route file. */
export class OriginContext {
  readonly audience: Audience;
  readonly viewers: ViewerNames;
  readonly showings: Showings;
  readonly gate: PlaybackGate;
  readonly restrictedPlaylists = new RestrictedPlaylists();
  readonly cacheControl: CacheControl;
  readonly #held: HeldRequests;

  constructor({ audience, viewers, showings, gate, held, cacheControl }: OriginContextOptions) {
    this.audience = audience;
    this.viewers = viewers;
    this.showings = showings;
    this.gate = gate;
    this.cacheControl = cacheControl;
    this.#held = held;
  }

  /**
   * Waits for the answer to a request, which takes a place only if it must wait; see {@link HeldRequests.hold}. Another node asks on behalf
   * of all its viewers, so its requests for one stream are charged to a name of their own, as if that were one address.
   */
  hold<Answer>(
    reply: FastifyReply,
    playbackId: PlaybackId,
    ask: (waiting: Waiting) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const { request } = reply;
    const isNode = this.viewers.told(request, playbackId) !== undefined;
    return this.#held.hold(reply.raw, isNode ? `another node for ${playbackId}` : request.ip, ask);
  }

  /**
   * Lets a request for a playlist or thumbnail in; see {@link PlaybackGate.admit}. Another node has judged the viewers it asks for.
   * @throws {MillraceError} as there
   */
  async admit(request: FastifyRequest, playbackId: PlaybackId, ticket?: string): Promise<PlaybackAdmission> {
    if (this.viewers.told(request, playbackId) !== undefined) return { restricted: false };
    return await this.gate.admit(request, playbackId, ticket);
  }

  /** Whether who asks for media may know its address; see {@link PlaybackGate.knowsMedia}. Other nodes ask by the addresses of public media. */
  async knowsMedia(
    request: FastifyRequest,
    playbackId: PlaybackId,
    media: { readonly mediaPath: MediaPath; readonly proof: string | undefined; readonly name: string },
  ): Promise<boolean> {
    if (media.proof === undefined && this.viewers.told(request, playbackId) !== undefined) return true;
    return await this.gate.knowsMedia(playbackId, media);
  }

  /**
   * The `Cache-Control` to answer a request with: the one given when the request names the resource by its one URL, otherwise one that
   * keeps the answer out of caches. `resource-url.ts` says why.
   */
  sharedAs({ request }: FastifyReply, url: string, cacheControl: string): string {
    return request.raw.url === url ? cacheControl : this.cacheControl('unshared');
  }
}

/** For routes that answer only once media exists: how long they take says nothing of the server's speed. */
export const HELD = { config: { held: true } } as const;

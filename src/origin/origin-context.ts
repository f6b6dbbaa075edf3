/**
 * What all routes of the origin share.
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
import type { OnSent } from './viewer-connection.ts';

/** The options of an {@link OriginContext}. */
export interface OriginContextOptions {
  readonly audience: Audience;
  readonly viewers: ViewerNames;
  readonly showings: Showings;
  readonly gate: PlaybackGate;
  readonly held: HeldRequests;
  readonly cacheControl: CacheControl;
}

/** What every route needs to answer. The plugin makes one and passes it to each route file. */
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
   * of all its viewers, so its requests for one stream are charged to a name of their own instead of its address.
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
   * Makes the function that notes bytes of media that were sent. Undefined when another node asks, because that node notes them itself.
   * @param playbackId the playback id of the stream, recording or clip that is asked for
   * @param counted.usageOf the stream in whose usage the bytes count, even when it is deleted; by default the one asked for
   * @param counted.msPerByte the milliseconds that a viewer watches with each byte
   */
  delivers(
    request: FastifyRequest,
    playbackId: PlaybackId,
    { usageOf = playbackId, msPerByte = 0 }: { readonly usageOf?: PlaybackId; readonly msPerByte?: number } = {},
  ): OnSent | undefined {
    if (this.viewers.told(request, playbackId) !== undefined) return undefined;
    return (sizeBytes) => this.audience.delivered(usageOf, sizeBytes, sizeBytes * msPerByte);
  }

  /**
   * Admits a request for a playlist or thumbnail; see {@link PlaybackGate.admit}. A request of another node is admitted, because that node
   * has already checked its viewers.
   * @throws {MillraceError} the errors of {@link PlaybackGate.admit}
   */
  async admit(request: FastifyRequest, playbackId: PlaybackId, ticket?: string): Promise<PlaybackAdmission> {
    if (this.viewers.told(request, playbackId) !== undefined) return { restricted: false };
    return await this.gate.admit(request, playbackId, ticket);
  }

  /**
   * Whether the sender of a request for media may know its address; see {@link PlaybackGate.knowsMedia}. Other nodes use the addresses of
   * public media.
   */
  async knowsMedia(
    request: FastifyRequest,
    playbackId: PlaybackId,
    media: { readonly mediaPath: MediaPath; readonly proof: string | undefined; readonly name: string },
  ): Promise<boolean> {
    if (media.proof === undefined && this.viewers.told(request, playbackId) !== undefined) return true;
    return await this.gate.knowsMedia(playbackId, media);
  }

  /**
   * The `Cache-Control` of an answer: the given one when the request uses the resource's one URL, otherwise one that keeps the answer out
   * of caches. `resource-url.ts` explains why.
   */
  sharedAs({ request }: FastifyReply, url: string, cacheControl: string): string {
    return request.raw.url === url ? cacheControl : this.cacheControl('unshared');
  }
}

/** For routes that answer only once media exists. Their duration does not show how fast the server is. */
export const HELD = { config: { held: true } } as const;

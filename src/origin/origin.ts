/**
 * The playback face: answers players over HTTP with what the live sessions hold in memory, and serves the player page.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { Secret } from '#domain/secret.ts';
import type { Audience, LiveDirectory } from '#live/live.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { OPEN_HEADERS, sendPreflight } from './answer.ts';
import { type AnswerKind, cacheControlFor } from './caching.ts';
import type { OriginSettings } from './config.ts';
import { HeldRequests } from './held-requests.ts';
import { mediaRoute } from './media-route.ts';
import type { OriginContext } from './origin-context.ts';
import { Owners, type OwnersOptions } from './owners.ts';
import { playerPageRoutes } from './player-page.ts';
import { mediaPlaylistRoute, multivariantRoute } from './playlist-routes.ts';
import { thumbnailRoute } from './thumbnail-route.ts';
import { ViewerNames } from './viewer.ts';

/** Playlists and parts are held this many target durations. */
const LONGEST_HOLD_TARGET_DURATIONS = 3;

/** What the origin is made with. */
export interface OriginOptions {
  readonly live: LiveDirectory;
  readonly audience: Audience;
  readonly settings: OriginSettings;
  /** EXT-X-TARGETDURATION of every session, in seconds: answers may be cached for multiples of it. */
  readonly targetDurationS: number;
  readonly metrics: Metrics;
  /** The other nodes on the same database; undefined where there are none. */
  readonly cluster?: { readonly secret: Secret; readonly owners: OwnersOptions } | undefined;
}

/**
 * Adds `/hls/**` and `/play/**` to a Fastify instance. Refusals are thrown as `MillraceError` to the instance's own error
 * handler, which writes their body; the headers that let caches and other sites' players have them are set here.
 */
export async function originPlugin(app: FastifyInstance, options: OriginOptions): Promise<void> {
  const held = new HeldRequests(options.settings.maxHeldRequests);
  const viewers = new ViewerNames(options.cluster?.secret);
  const cacheControl = cacheControlFor(options.targetDurationS);
  const context: OriginContext = {
    live: options.live,
    audience: options.audience,
    viewers,
    held,
    cacheControl,
  };

  options.metrics.heldRequests.observe({}, () => held.count);
  app.addHook('preClose', async () => held.release());

  await app.register(async (hls) => {
    hls.setErrorHandler((error, request, reply) => {
      void reply.headers({ ...OPEN_HEADERS, 'cache-control': cacheControl(kindOfError(error, request)) });
      throw error;
    });
    if (options.cluster !== undefined) await addPeerProxy(hls, context, options.cluster.owners, options);
    hls.options('/hls/*', async (_request, reply) => sendPreflight(reply));
    multivariantRoute(hls, context);
    mediaPlaylistRoute(hls, context);
    mediaRoute(hls, context);
    thumbnailRoute(hls, context);
  });
  await app.register(playerPageRoutes);
}

async function addPeerProxy(
  hls: FastifyInstance,
  { live, viewers, held }: OriginContext,
  owners: OwnersOptions,
  { settings, targetDurationS }: OriginOptions,
): Promise<void> {
  // Loaded only where there are other nodes: its HTTP client takes 8 MB.
  const { PeerProxy } = await import('./peer-proxy.ts');
  const proxy = new PeerProxy({
    live,
    owners: new Owners(owners),
    viewers,
    held,
    maxConnections: settings.maxHeldRequests,
    longestHoldMs: LONGEST_HOLD_TARGET_DURATIONS * targetDurationS * 1000,
  });
  hls.addHook('preHandler', (request, reply) => proxy.answer(request, reply));
  hls.addHook('onClose', () => proxy[Symbol.asyncDispose]());
}

/** Which rule of caching an error falls under. */
function kindOfError(error: unknown, request: FastifyRequest): AnswerKind {
  if (!(error instanceof MillraceError) || error.status >= 500) return 'moment';
  if (error.code === 'stream_offline') return 'offline';
  // Of one viewer's range; a cache that kept it would answer the next one, who wants all, with it.
  if (error.code === 'range_not_satisfiable') return 'moment';
  if ('name' in (request.params as object)) return 'media_error';
  return '_HLS_msn' in (request.query as object) ? 'blocking_playlist_error' : 'playlist_error';
}

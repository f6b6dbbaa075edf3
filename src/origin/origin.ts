/**
 * The playback interface, which answers players over HTTP with the media that the live sessions hold in memory.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { REFUSAL_REASONS } from '#domain/playback-policy.ts';
import type { Secret } from '#domain/secret.ts';
import type { Audience, LiveDirectory } from '#live/live.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { OPEN_HEADERS, sendPreflight } from './answer.ts';
import { cacheControlFor } from './caching.ts';
import type { OriginSettings } from './config.ts';
import { HeldRequests } from './held-requests.ts';
import { mediaRoute } from './media-route.ts';
import { OriginContext } from './origin-context.ts';
import { Owners, type OwnersOptions } from './owners.ts';
import type { Peers } from './peers.ts';
import { mediaPlaylistRoute, multivariantRoute } from './playlist-routes.ts';
import { extentRoute } from './recordings/extent-route.ts';
import { recordingInfoRoute } from './recordings/recording-info.ts';
import { type RecordingRoutesOptions, recordingRoutes } from './recordings/recording-routes.ts';
import { Recordings, type RecordingsOptions } from './recordings/recordings.ts';
import { PlaybackGate, type PlaybackGateOptions } from './rights/playback-gate.ts';
import { type RefusalReport, Refusals } from './rights/refusals.ts';
import { Showings } from './showings.ts';
import { thumbnailRoute } from './thumbnail-route.ts';
import { ViewerNames } from './viewer.ts';

/** The number of target durations for which requests for playlists and parts are held. */
const LONGEST_HOLD_TARGET_DURATIONS = 3;

/** The options of the origin. */
export interface OriginOptions {
  readonly live: LiveDirectory;
  readonly audience: Audience;
  readonly settings: OriginSettings;
  /** EXT-X-TARGETDURATION of every session, in seconds. Answers may be cached for multiples of it. */
  readonly targetDurationS: number;
  readonly metrics: Metrics;
  /** What the playback gate needs to check viewers. */
  readonly rights: Pick<PlaybackGateOptions, 'store' | 'secret' | 'clock' | 'askReceiver'>;
  /** Called with counts of refused viewers, at most once a minute for each stream. Must not throw. */
  readonly onRefused: (report: RefusalReport) => void;
  /** The library of recordings, and what serving them needs. Undefined where there are none. */
  readonly recordings?:
    | (Omit<RecordingsOptions, 'clock'> & Pick<RecordingRoutesOptions, 'library' | 'isOwner' | 'publicUrl'>)
    | undefined;
  /** Called with each request from another node. */
  readonly onNode?: (request: FastifyRequest) => void;
  /** The other nodes on the same database. Undefined where there are none. */
  readonly cluster?: { readonly secret: Secret; readonly owners: OwnersOptions } | undefined;
}

/**
 * Adds `/hls/**` and `/recordings/**` to a Fastify instance. Refusals are thrown as `MillraceError` to the instance's error handler, which
 * writes their body. The headers for caches and for players on other sites are set in this folder.
 */
export async function originPlugin(app: FastifyInstance, options: OriginOptions): Promise<void> {
  const { live, audience, cluster, targetDurationS } = options;
  const held = new HeldRequests(options.settings.maxHeldRequests);
  const viewers = new ViewerNames(cluster?.secret, options.onNode);
  const peers = cluster && (await openPeers(cluster.owners, viewers, options));
  const refusals = new Refusals(options.rights.clock, options.onRefused);
  // A series must exist at 0, because Prometheus sees no increase where one begins with the first refusals.
  for (const reason of REFUSAL_REASONS) options.metrics.playbackRefusals.inc({ reason }, 0);
  const gate = new PlaybackGate({
    ...options.rights,
    live,
    onRefused: (stream, reason) => {
      options.metrics.playbackRefusals.inc({ reason });
      refusals.note(stream, reason);
    },
  });
  const context = new OriginContext({
    audience,
    viewers,
    showings: new Showings({ live, viewers, peers }),
    gate,
    held,
    cacheControl: cacheControlFor(targetDurationS),
  });

  const recordings = options.recordings && (await openRecordings(options.recordings, options));
  options.metrics.heldRequests.observe({}, () => held.count);
  app.addHook('preClose', async () => held.release());
  app.addHook('onClose', (_app, done) => {
    refusals[Symbol.dispose]();
    done();
  });
  app.addHook('onClose', async () => await peers?.[Symbol.asyncDispose]());
  app.addHook('onClose', async () => await recordings?.elsewhere?.[Symbol.asyncDispose]());

  await app.register(async (hls) => {
    hls.setErrorHandler((error, _request, reply) => {
      void reply.headers({ ...OPEN_HEADERS, 'cache-control': context.cacheControl('unshared') });
      throw error;
    });
    hls.options('/hls/*', async (_request, reply) => sendPreflight(reply));
    hls.options('/recordings/*', async (_request, reply) => sendPreflight(reply));
    multivariantRoute(hls, context);
    mediaPlaylistRoute(hls, context);
    mediaRoute(hls, context);
    thumbnailRoute(hls, context);
    if (recordings === undefined) return;
    recordingRoutes(hls, context, recordings);
    recordingInfoRoute(hls, context, recordings);
    if (cluster !== undefined) extentRoute(hls, context, recordings.library);
  });
}

async function openRecordings(
  { library, isOwner, publicUrl, ...options }: NonNullable<OriginOptions['recordings']>,
  { settings, rights, cluster }: OriginOptions,
): Promise<RecordingRoutesOptions> {
  const recordings = new Recordings({ ...options, clock: rights.clock });
  // Loaded only when there are other nodes, as `peers.ts` is.
  const elsewhere = cluster && new (await import('./recordings/elsewhere.ts')).RecordingsElsewhere();
  return { recordings, library, isOwner, publicUrl, elsewhere, dvr: settings.dvr === 'on' };
}

async function openPeers(
  owners: OwnersOptions,
  viewers: ViewerNames,
  { audience, settings, targetDurationS }: OriginOptions,
): Promise<Peers> {
  // Loaded only when there are other nodes, because its HTTP client takes 8 MB.
  const { Peers } = await import('./peers.ts');
  return new Peers({
    owners: new Owners(owners),
    viewers,
    audience,
    clock: owners.clock,
    maxConnections: settings.maxHeldRequests,
    longestHoldMs: LONGEST_HOLD_TARGET_DURATIONS * targetDurationS * 1000,
  });
}

/**
 * The composition root: the only file that knows every part and connects them.
 */
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createIsOwner } from '#api/owner.ts';
import { apiPlugin } from '#api/plugin.ts';
import { presentStreamOfEvent } from '#api/present-stream.ts';
import { type Config, settingsInForce } from '#config.ts';
import { dashboardPlugin } from '#dashboard/dashboard.ts';
import { BrowserTokens } from '#domain/browser-session.ts';
import { MillraceError } from '#domain/errors.ts';
import { type ApiKeyId, type NodeId, newEventId, type StreamId } from '#domain/ids.ts';
import { OwnerTokens } from '#domain/owner-token.ts';
import type { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import { fetchableS } from '#hls/hls.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import { createPresentation } from '#hls/presentation.ts';
import { createHttp, listenHttp } from '#http/http.ts';
import { listenMetrics } from '#http/metrics-listener.ts';
import { publicUrlOf } from '#http/public-url.ts';
import { openCertificate } from '#http/tls.ts';
import type { IngestAddress } from '#ingest/ingest.ts';
import { INGEST_PROTOCOLS } from '#ingest/protocols.ts';
import { publishUrls } from '#ingest/public-url.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import { CautiousClock } from '#lib/cautious-clock.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import { DestinationGuard } from '#lib/destination-guard.ts';
import { MIB } from '#lib/units.ts';
import { version } from '#lib/version.ts';
import { joinCluster } from '#live/cluster.ts';
import type { NodeLease } from '#live/node-lease.ts';
import { defaultNodeUrl } from '#live/node-url.ts';
import { adoptOrphans } from '#live/orphans.ts';
import { PublishAttempts } from '#live/publish-attempts.ts';
import { createPublishGate } from '#live/publish-gate.ts';
import { PublisherClaims } from '#live/publisher-claims.ts';
import { RecordingSettlements } from '#live/recording-settlements.ts';
import { SessionJournal } from '#live/session-journal.ts';
import { SessionRegistry } from '#live/session-registry.ts';
import { SessionSampler } from '#live/session-sampler.ts';
import { StreamWatcher } from '#live/stream-watcher.ts';
import { TEST_PICTURE_PROTOCOL, TestPictures } from '#live/test-pictures.ts';
import { originPlugin } from '#origin/origin.ts';
import { type PlayableRights, Playables } from '#origin/playables.ts';
import type { ExtentElsewhere } from '#origin/recordings/extent-elsewhere.ts';
import { frameAncestorsOf } from '#origin/rights/page-origin.ts';
import type { RefusalReport } from '#origin/rights/refusals.ts';
import { createAskReceiver } from '#origin/rights/webhook-receiver.ts';
import { preparePages } from '#pages/pages.ts';
import { RecordingLibrary } from '#recording/library.ts';
import { BucketFileReader } from '#recording/reader/bucket-reader.ts';
import { LocalFileReader } from '#recording/reader/reader.ts';
import { FileRecorders } from '#recording/recorders.ts';
import { RecordingStorage } from '#recording/recording-storage.ts';
import { headOfIndex } from '#recording/storage/stored-index.ts';
import { EventSequencer } from '#store/event-sequencer.ts';
import { Housekeeping } from '#store/housekeeping.ts';
import { believableTime, LastTime } from '#store/last-time.ts';
import { nodeIdOf } from '#store/node-id.ts';
import type { Store } from '#store/store.ts';
import { InternalErrors } from '#telemetry/internal-errors.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { hasFfmpeg } from '#transcode/ffmpeg-package.ts';
import { ForkServer } from '#transcode/fork-server.ts';
import { makeStill } from '#transcode/still.ts';
import { drawTestPicture, type TestPictureTarget } from '#transcode/test-picture.ts';
import { TranscoderPool } from '#transcode/transcoder-pool.ts';
import { Dispatcher } from '#webhooks/dispatcher.ts';
import { Sender } from '#webhooks/sender.ts';

/** An address on which the server listens, with its actual port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A running Millrace. Disposing it disconnects publishers, answers held requests, and writes what is left, in that order. */
export interface App extends AsyncDisposable {
  readonly addresses: {
    readonly http: ListenAddress;
    readonly ingest: readonly IngestAddress[];
    readonly metrics: ListenAddress;
  };
}

/** What a process has besides its settings. */
export interface AppOptions {
  readonly store: Store;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** How long a request for media is held. A test whose clock stands still needs longer than the default of a presentation. */
  readonly longestHoldMs?: number | undefined;
  /** Called whenever a request has presented a valid API key. */
  readonly onKeyUse?: (id: ApiKeyId) => void;
  /** Whether the server was started from a terminal, so that somebody can read there what it prints. */
  readonly isAttended?: boolean;
}

/**
 * Starts every part. The store belongs to the caller and stays open.
 * @throws {CertificateError} when TLS is configured with unusable files
 * @throws {Error} a system error when a port cannot be opened; the parts started by then are stopped
 */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const { clock, logger, metrics } = options;
  await using parts = new AsyncDisposableStack();
  const throttle = new AttemptThrottle({ perMinute: config.api.wrongKeysPerMinute, clock });
  const certificate = await openCertificate({ settings: config.http, clock, logger, metrics });
  if (certificate !== undefined) parts.use(certificate);
  const sessions = await startSessions(parts, config, options);
  const attempts = parts.use(
    new PublishAttempts({
      store: options.store,
      nodeId: sessions.nodeId,
      clock,
      logger,
      happened: (event) => sessions.journal.happened(event),
    }),
  );
  const gate = createPublishGate({
    store: options.store,
    registry: sessions.registry,
    quotas: config.quotas,
    maxPublishers: config.live.maxPublishers,
    clock,
    claims: sessions.claims,
    throttle,
    metrics,
    attempts,
    onArriving: (streamId, protocol) => {
      if (protocol !== TEST_PICTURE_PROTOCOL) testPictures.stopHere(streamId);
    },
    onAccepted: (stream) => {
      sessions.watcher.accepted(stream);
      sessions.prepareWorkers();
    },
  });
  const { draw } = sessions;
  const testPictures = parts.use(new TestPictures({ gate, store: options.store, clock, draw }));
  const guard = new DestinationGuard({ allowPrivate: config.webhooks.allowPrivate === '1' });
  const sender = parts.use(new Sender({ guard, clock }));
  // The sender is separate, so that deliveries of events and gate calls do not wait for each other's connections.
  const gateSender = parts.use(new Sender({ guard, clock }));
  const presentStream = (stream: Stream) => presentStreamOfEvent(stream, sessions.registry.directory);
  const webhooks = parts.use(
    new Dispatcher({
      store: options.store,
      sender,
      presentStream,
      publicUrl: config.http.publicUrl,
      clock,
      logger,
      metrics,
    }),
  );

  const playables = new Playables({ live: sessions.registry.directory, store: options.store, clock });
  const pages = await preparePages({
    apiPrefix: config.api.prefix,
    find: async (id, address) => await unlessAway(playables.rightsOf(id, address)),
    framedBy: async (id, address) => frameAncestorsOf((await playables.rightsOf(id, address))?.playbackPolicy),
  });
  const http = createHttp({ settings: config.http, logger, metrics, certificate, errorPage: pages.errorPage });
  parts.defer(() => http.close());
  const ingestAddresses: IngestAddress[] = [];
  await addInterfaces(http, {
    config,
    options,
    sessions,
    playables,
    attempts,
    testPictures,
    certificate,
    webhooks,
    guard,
    gateSender,
    throttle,
    ingestAddresses,
  });
  await http.register(pages.routes);
  for (const listen of INGEST_PROTOCOLS) {
    const server = parts.use(await listen({ settings: config.ingest, gate, clock, logger, metrics, certificate }));
    ingestAddresses.push(...server.addresses);
  }
  const metricsListener = parts.use(await listenMetrics({ settings: config.http, metrics }));
  const addresses = {
    http: await listenHttp(http, config.http),
    ingest: ingestAddresses,
    metrics: metricsListener.address,
  };
  await sessions.lease?.moveTo(nodeUrlOf(config, addresses.http.port));
  const running = parts.move();
  return { addresses, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** The parts that keep the sessions of this process. */
interface Sessions {
  readonly nodeId: NodeId;
  readonly registry: SessionRegistry;
  readonly journal: SessionJournal;
  readonly watcher: StreamWatcher;
  /** Undefined unless other processes may share the store. */
  readonly claims: PublisherClaims | undefined;
  readonly lease: NodeLease | undefined;
  readonly recordings: Recordings;
  /** The clock that decides what has expired. */
  readonly deletionClock: CautiousClock;
  /** Makes sure that workers can be started at once. */
  readonly prepareWorkers: () => void;
  /** Begins a test picture. Undefined without FFmpeg. */
  readonly draw: ((target: TestPictureTarget) => AsyncDisposable) | undefined;
}

/** What records sessions, and what gives recordings to viewers. */
interface Recordings {
  readonly recorders: FileRecorders;
  readonly library: RecordingLibrary;
  readonly settlements: RecordingSettlements;
}

/** Starts what records sessions. @throws {BucketSettingsError} when the settings of the bucket do not fit together */
async function startRecordings(
  parts: AsyncDisposableStack,
  config: Config,
  options: AppOptions,
  {
    nodeId,
    forkServer,
    deletionClock,
  }: { readonly nodeId: NodeId; readonly forkServer: ForkServer; readonly deletionClock: Clock },
): Promise<Recordings> {
  const { recording, objects, quotas, store: settings } = config;
  const { store, logger, clock, metrics } = options;
  const folder = recording.dir ?? join(settings.dataDir, 'recordings');
  const noteFile = recording.dir === undefined ? undefined : join(settings.dataDir, 'recordings-folder');
  const storage = parts.use(
    await RecordingStorage.open({
      ...options,
      deletionClock,
      folder,
      noteFile,
      settings: recording,
      objects,
      quotas,
      nodeId,
      onFailing: (isFailing) => recorders.warnOfUploads(isFailing),
      onOverQuota: (path) => recorders.endOverQuota(path),
      onFree: ({ path }) => library.close(path),
    }),
  );
  const local = parts.use(new LocalFileReader({ folder }));
  const { bucket } = storage;
  const library = new RecordingLibrary({
    reader: bucket === undefined ? local : new BucketFileReader({ local, bucket, clock }),
    recorders: { running: (path) => recorders.running(path) },
    makeStill: (keyframe) => makeStill(forkServer, keyframe),
  });
  const recorders = parts.use(
    new FileRecorders({
      ...recording,
      folder,
      noteFile,
      minFreeBytes: recording.minFreeMib * MIB,
      clock,
      logger,
      isOverQuota: (userId) => storage.isOverQuota(userId),
      hasEndedInBucket: bucket && (async (path) => (await headOfIndex(bucket, path)) !== undefined),
      onBegun: (userId, path) => storage.begun(userId, path),
      onContinued: (path, periods) => storage.continued(path, periods),
      onClosed: (path, periods) => storage.closed(path, periods),
      onEnded: (path) => storage.ended(path),
    }),
  );
  metrics.recordingWaiting.observe({}, () => recorders.pendingBytes);
  const { assets } = store;
  const settlements = parts.use(new RecordingSettlements({ assets, recorders, library, nodeId, clock, logger }));
  storage.start();
  return { recorders, library, settlements };
}

/** Starts the parts that keep the sessions, and resumes the sessions that an earlier process left. */
async function startSessions(parts: AsyncDisposableStack, config: Config, options: AppOptions): Promise<Sessions> {
  const { store, logger, clock, metrics, longestHoldMs } = options;
  const nodeId = nodeIdOf(config.store.dataDir);
  const onLost = (streamId: StreamId): void => registry.disconnect(streamId, 'replaced');
  let lease: NodeLease | undefined;
  // Disposed last, because the journal may still write events that must be numbered, and without a lease its writes are refused.
  parts.use(new EventSequencer({ store, logger }));
  parts.defer(() => lease?.[Symbol.asyncDispose]());
  const journal = parts.use(
    new SessionJournal({ store, logger, clock, owner: store.isShared ? { nodeId, onLost } : undefined }),
  );
  const claims = store.isShared ? parts.use(new PublisherClaims({ store, nodeId, logger, onLost })) : undefined;
  const forkServer = parts.use(new ForkServer());
  const { dataDir } = config.store;
  const deletionClock = new CautiousClock({
    clock,
    startedAt: believableTime(dataDir, await store.nodes.time(), logger),
    onDoubt: (aheadMs) =>
      logger.warn(
        { aheadS: Math.round(aheadMs / 1000) },
        'the clock is ahead of what it was before, so nothing expires by it for a day; if it is right, delete last-time in the data folder, set the clock of the database if that is PostgreSQL, and restart the server',
      ),
  });
  parts.use(new LastTime({ dataDir, clock: deletionClock, logger }));
  const recordings = await startRecordings(parts, config, options, { nodeId, forkServer, deletionClock });
  const isAvailable = hasFfmpeg();
  if (!isAvailable)
    logger.warn({}, 'FFmpeg is not installed, so nothing is transcoded; install without --omit=optional');
  const transcoders = new TranscoderPool({ settings: config.transcode, clock, forkServer, isAvailable });
  const errors = new InternalErrors({ logger, metrics });
  const registry = parts.use(
    new SessionRegistry({
      settings: { ...config.hls, ...config.live, quotas: config.quotas },
      nodeId,
      isShared: store.isShared,
      createPresentation: (presentation) =>
        createPresentation({ ...presentation, ...(longestHoldMs !== undefined && { longestHoldMs }) }),
      openTranscoder: (request) => transcoders.open(request),
      memory: createMediaMemory(config.hls.mediaMemoryMib * MIB),
      recorders: recordings.recorders,
      onRecorded: (session, extent) => recordings.settlements.ended(session, extent),
      journal,
      clock,
      logger,
      metrics,
      errors,
      onPublisherGone: (streamId) => claims?.release(streamId),
    }),
  );
  const node = { id: nodeId, url: nodeUrlOf(config, config.http.port) };
  lease = claims && (await joinCluster({ store, node, registry, claims, clock, logger }));
  parts.use(
    new SessionSampler({
      sessions: () => registry.sessions,
      viewersOf: (playbackId) => registry.directory.viewers(playbackId),
      usage: registry.usage,
      store,
      clock,
      logger,
      errors,
    }),
  );
  const { reconnectWindowS } = config.live;
  await adoptOrphans({ store, nodeId, registry, journal, clock, reconnectWindowS });
  parts.use(new Housekeeping({ store, quotas: config.quotas, clock: deletionClock, logger, ...config.store }));
  const watcher = parts.use(new StreamWatcher({ store, registry, quotas: config.quotas, nodeId, claims, logger }));
  const draw = isAvailable ? (target: TestPictureTarget) => drawTestPicture(forkServer, target) : undefined;
  const prepareWorkers = () => {
    if (isAvailable) forkServer.prepare();
  };
  return { nodeId, registry, journal, watcher, claims, lease, recordings, deletionClock, prepareWorkers, draw };
}

/** Adds the API, the dashboard and playback to the HTTP server. @param from.ingestAddresses filled once ingest listens */
async function addInterfaces(
  http: FastifyInstance,
  from: {
    readonly config: Config;
    readonly options: AppOptions;
    readonly sessions: Sessions;
    readonly playables: Playables;
    readonly attempts: PublishAttempts;
    readonly testPictures: TestPictures;
    readonly certificate: CertificateWatch | undefined;
    readonly webhooks: Dispatcher;
    readonly gateSender: Sender;
    readonly guard: DestinationGuard;
    readonly throttle: AttemptThrottle;
    readonly ingestAddresses: readonly IngestAddress[];
  },
): Promise<void> {
  const {
    config,
    sessions,
    playables,
    attempts,
    testPictures,
    certificate,
    webhooks,
    guard,
    gateSender,
    throttle,
    ingestAddresses,
  } = from;
  const { store, clock, logger, metrics, onKeyUse, isAttended = false } = from.options;
  const { nodeId, registry } = sessions;
  const { targetDurationS } = config.hls;
  const secret = await store.nodes.clusterSecret();
  const { library } = sessions.recordings;
  const tokens = new BrowserTokens(secret);
  const elsewhere = store.isShared ? await openExtentElsewhere(store, nodeId, secret) : undefined;
  http.addHook('onClose', async () => await elsewhere?.[Symbol.asyncDispose]());
  await http.register(apiPlugin, {
    settings: config.api,
    quotas: config.quotas,
    store,
    live: registry.directory,
    findPlayable: (id, address) => playables.find(id, address),
    isSeekable: config.origin.dvr === 'on',
    recordings: {
      extentOf: (path) => sessions.recordings.recorders.running(path)?.extent,
      extentElsewhere: async (recording) => await elsewhere?.of(recording),
      secondsIn: async ({ nodeId: at, mediaPath, isStored }, span) =>
        at === nodeId || isStored ? await library.secondsIn(mediaPath, isStored, span) : undefined,
    },
    attempts,
    testPictures,
    host: {
      nodeId,
      version: version(),
      dataDir: config.store.dataDir,
      settings: settingsInForce(config),
      certificateValidTo: () => certificate?.current.validTo,
      draw: sessions.draw,
      clockDoubtedMs: () => sessions.deletionClock.doubtedMs,
      counts: () => registry.counts,
    },
    throttle,
    tokens,
    ownerTokens: new OwnerTokens(secret),
    clock,
    publicUrl: publicUrlOf(config.http),
    publishUrls: (hostname) => publishUrls(config.ingest, ingestAddresses, hostname),
    resending: webhooks.resending,
    guard,
    metrics,
    onKeyUse,
  });
  await http.register(dashboardPlugin, {
    store,
    tokens,
    throttle,
    clock,
    logger,
    apiPrefix: config.api.prefix,
    publicUrl: config.http.publicUrl,
    isAttended,
    onKeyUse,
  });
  await http.register(originPlugin, {
    live: registry.directory,
    audience: registry.directory,
    settings: config.origin,
    targetDurationS,
    metrics,
    rights: { store, secret, clock, askReceiver: createAskReceiver({ store, sender: gateSender, clock }) },
    onRefused: noteRefusals(store, logger),
    onNode: (request) => http.trustNode(request),
    recordings: {
      library,
      store,
      nodeId,
      quotas: config.quotas,
      isOwner: createIsOwner({ store, throttle }),
      publicUrl: config.recording.publicUrl,
    },
    cluster: store.isShared
      ? {
          secret,
          owners: { store, nodeId, clock, keptForMs: fetchableS(config.hls) * 1000, quotas: config.quotas },
        }
      : undefined,
  });
}

async function openExtentElsewhere({ assets }: Store, nodeId: NodeId, secret: Secret): Promise<ExtentElsewhere> {
  // Loaded only when there are other nodes, because its HTTP client takes 8 MB.
  const loaded = await import('#origin/recordings/extent-elsewhere.ts');
  return new loaded.ExtentElsewhere(assets, nodeId, secret);
}

/**
 * Stores an event about viewers whom a playback policy refused. It is not repeated when the store is down, because the metric counts all
 * refusals.
 */
function noteRefusals(store: Store, logger: Logger): (report: RefusalReport) => void {
  return ({ streamId, until, ...payload }) => {
    const type = 'access_control.refused';
    const event = {
      id: newEventId(),
      type,
      at: until,
      streamId,
      sessionId: undefined,
      payload: { ...payload, until },
    } as const;
    store.events
      .add([event])
      .catch((error: unknown) => logger.debug({ err: error, streamId }, 'refusals could not be stored'));
  };
}

/**
 * Waits for the lookup of a stream or recording. Where it fails, because the store is away or lookups are refused to the viewer's address,
 * the stream or recording counts as existing without a name: the player page then waits for it.
 */
async function unlessAway(
  playable: Promise<PlayableRights | undefined>,
): Promise<Pick<PlayableRights, 'publicName'> | undefined> {
  try {
    return await playable;
  } catch (error) {
    if (error instanceof MillraceError && error.fault === 'service') return { publicName: undefined };
    throw error;
  }
}

/** The URL at which other nodes reach this one. */
function nodeUrlOf({ http: { host, tlsCert }, live }: Config, port: number): string {
  return live.nodeUrl ?? defaultNodeUrl({ host, port, secure: tlsCert !== undefined });
}

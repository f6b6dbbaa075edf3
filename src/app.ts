/**
 * The composition root: the one file that knows every part and puts them together.
 */
import { apiPlugin } from '#api/plugin.ts';
import type { Config } from '#config.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import { createPresentation } from '#hls/presentation.ts';
import { createHttp, listenHttp } from '#http/http.ts';
import { listenMetrics } from '#http/metrics-listener.ts';
import { publicUrlOf } from '#http/public-url.ts';
import { INGEST_PROTOCOLS } from '#ingest/protocols.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { adoptOrphans } from '#live/orphans.ts';
import { createPublishGate } from '#live/publish-gate.ts';
import { SessionJournal } from '#live/session-journal.ts';
import { SessionRegistry } from '#live/session-registry.ts';
import { originPlugin } from '#origin/origin.ts';
import { nodeIdOf } from '#store/node-id.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { TranscoderPool } from '#transcode/transcoder-pool.ts';

/** Where something listens, with its real port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A running Millrace. Disposing it disconnects publishers, answers what is held, and writes what is left, in that order. */
export interface App extends AsyncDisposable {
  readonly addresses: { readonly http: ListenAddress; readonly rtmp: ListenAddress; readonly metrics: ListenAddress };
}

/** What a process has besides its settings. */
export interface AppOptions {
  readonly store: Store;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/**
 * Starts every part; the store is the caller's and stays open.
 * @throws {Error} of the system when a port cannot be taken; whatever had started by then is stopped again
 */
export async function startApp(config: Config, { store, logger, clock, metrics }: AppOptions): Promise<App> {
  await using parts = new AsyncDisposableStack();
  const nodeId = nodeIdOf(config.store.dataDir);
  const journal = parts.use(new SessionJournal(store, logger));
  const memory = createMediaMemory(config.hls.mediaMemoryMib * 1024 * 1024);
  const transcoders = new TranscoderPool({ settings: config.transcode, clock });
  const registry = parts.use(
    new SessionRegistry({
      settings: { ...config.hls, ...config.live },
      nodeId,
      isShared: store.isShared,
      createPresentation,
      openTranscoder: (request) => transcoders.open(request),
      memory,
      journal,
      clock,
      logger,
      metrics,
    }),
  );
  await adoptOrphans({ store, nodeId, registry, journal, clock, reconnectWindowS: config.live.reconnectWindowS });

  const throttle = new AttemptThrottle({ perMinute: config.api.wrongKeysPerMinute, clock });
  const http = createHttp({ settings: config.http, logger, metrics });
  parts.defer(() => http.close());
  let rtmpPort = config.ingest.rtmpPort;
  await http.register(apiPlugin, {
    settings: config.api,
    store,
    live: registry,
    throttle,
    clock,
    publicUrl: publicUrlOf(config.http),
    rtmpPort: () => rtmpPort,
  });
  await http.register(originPlugin, {
    live: registry,
    audience: registry,
    settings: config.origin,
    targetDurationS: config.hls.targetDurationS,
    metrics,
  });

  const gate = createPublishGate({ store, registry, throttle, metrics });
  const rtmpAddresses: ListenAddress[] = [];
  for (const listen of INGEST_PROTOCOLS) {
    const server = parts.use(await listen({ settings: config.ingest, gate, clock, logger, metrics }));
    if (server.protocol === 'rtmp') rtmpAddresses.push(server.address);
  }
  const [rtmp] = rtmpAddresses;
  if (rtmp === undefined) throw new Error('the list of ingest protocols has no RTMP');
  rtmpPort = rtmp.port;
  const metricsListener = parts.use(await listenMetrics({ settings: config.http, metrics }));
  const addresses = { http: await listenHttp(http, config.http), rtmp, metrics: metricsListener.address };

  const running = parts.move();
  return { addresses, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

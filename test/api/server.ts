/**
 * The running API with a real store in a temporary folder. Tests set the live sessions and the time. Everything else is real.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import { apiPlugin } from '#api/plugin.ts';
import { presentStreamOfEvent } from '#api/present-stream.ts';
import { operatorReceipt } from '#cli/receipt.ts';
import { type Config, readConfig, settingsInForce } from '#config.ts';
import type { AssetExtent } from '#domain/asset.ts';
import { BrowserTokens } from '#domain/browser-session.ts';
import type { HealthSample } from '#domain/health-sample.ts';
import {
  type ApiKeyId,
  type MediaPath,
  newApiKeyId,
  newMediaPath,
  newNodeId,
  newUserId,
  type PlaybackId,
  type SessionId,
  type StreamId,
  type UserId,
} from '#domain/ids.ts';
import { OwnerTokens } from '#domain/owner-token.ts';
import { newApiKeySecret, type Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { AccessRule } from '#domain/user.ts';
import { createHttp } from '#http/http.ts';
import { publicUrlOf } from '#http/public-url.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { DestinationGuard } from '#lib/destination-guard.ts';
import { ms } from '#lib/units.ts';
import type { LiveDirectory, LiveStatus, LiveUsage } from '#live/live.ts';
import type { RecentAttempt } from '#live/recent-attempts.ts';
import { Playables } from '#origin/playables.ts';
import { secondsIn } from '#recording/extent.ts';
import type { RecordingIndex } from '#recording/recording-index.ts';
import { EventSequencer } from '#store/event-sequencer.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { putEmptyStore } from '#test/support/empty-store.ts';
import { recordingPresentation } from '#test/support/recording-presentation.ts';
import { Dispatcher } from '#webhooks/dispatcher.ts';
import { Sender } from '#webhooks/sender.ts';

/** An API key with its secret. */
export interface TestKey {
  readonly userId: UserId;
  readonly id: ApiKeyId;
  readonly secret: string;
}

/** The result of {@link startApi}. */
export type TestApi = Awaited<ReturnType<typeof startApi>>;

/**
 * @param t disposes everything at its end: a test, or another user of the API
 * @param environment the settings of the server
 * @param wrapStore injects faults before the store
 */
export async function startApi(
  t: { after(close: () => Promise<void>): void },
  environment: Record<string, string> = {},
  wrapStore: (store: Store) => Store = (store) => store,
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-api-'));
  await putEmptyStore(dataDir);
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  const config: Config = readConfig(environment);
  const time = { now: 1_795_175_107_399, monotonic: 1000 };
  const clock: Clock = { now: () => ms(time.now), monotonic: () => ms(time.monotonic) };
  // The disk may be busy with other tests.
  const patient = { readTimeoutMs: 60_000, writeTimeoutMs: 60_000 };
  const realStore = await openStore({ dataDir, exclusive: true, logger, ...patient });
  const store = wrapStore(realStore);
  const statuses = new Map<StreamId | SessionId, LiveStatus>();
  const thumbnails = new Map<PlaybackId, Uint8Array>();
  const viewers = new Map<PlaybackId, number>();
  const samples = new Map<SessionId, readonly HealthSample[]>();
  const extents = new Map<MediaPath, AssetExtent>();
  const extentsElsewhere = new Map<MediaPath, AssetExtent>();
  const indexes = new Map<MediaPath, RecordingIndex>();
  const usage: LiveUsage = { publishers: 3, transcodes: 2, mediaMemoryBytes: 5_000_000, viewers: 4 };
  const live: LiveDirectory = {
    status: (id) => statuses.get(id),
    sessionStatus: (id) => statuses.get(id),
    watch: (playbackId) => {
      const thumbnail = thumbnails.get(playbackId);
      if (thumbnail === undefined) return undefined;
      return { mediaPath: newMediaPath(), phase: 'live', presentation: recordingPresentation(), thumbnail };
    },
    watchPath: () => undefined,
    watchedStream: () => undefined,
    viewers: (playbackId) => viewers.get(playbackId) ?? 0,
    usageOf: () => usage,
    samples: (id) => samples.get(id),
  };
  const host = {
    nodeId: newNodeId(),
    version: '1.2.3',
    dataDir,
    settings: settingsInForce(config),
    certificateValidTo: () => undefined,
    draw: undefined,
    clockDoubtedMs: () => undefined,
    counts: () => ({ sessions: 2, publishers: 1 }),
  };
  const pictures: [what: string, stream: StreamId][] = [];
  const testPictures = {
    start: async ({ id }: Stream) => {
      pictures.push(['start', id]);
      return ms(time.now + 60_000);
    },
    stop: async (id: StreamId) => void pictures.push(['stop', id]),
  };
  const attempts = { recent: [] as RecentAttempt[] };
  const metrics = createMetrics();
  const http = createHttp({ settings: config.http, logger, metrics });
  const guard = new DestinationGuard({ allowPrivate: config.webhooks.allowPrivate === '1' });
  const sender = new Sender({ guard, clock });
  const presentStream = (stream: Stream) => presentStreamOfEvent(stream, live);
  const webhooks = new Dispatcher({ store, sender, presentStream, clock, logger, metrics });
  const sequencer = new EventSequencer({ store, logger });
  const playables = new Playables({ live, store, clock });
  await http.register(apiPlugin, {
    settings: config.api,
    quotas: config.quotas,
    store,
    live,
    findPlayable: (id, address) => playables.find(id, address),
    recordings: {
      extentOf: (path) => extents.get(path),
      extentElsewhere: async ({ mediaPath }) => extentsElsewhere.get(mediaPath),
      secondsIn: async ({ mediaPath }, span) => {
        const index = indexes.get(mediaPath);
        return index && secondsIn(index, span);
      },
    },
    isSeekable: config.origin.dvr === 'on',
    attempts,
    testPictures,
    host,
    throttle: new AttemptThrottle({ perMinute: config.api.wrongKeysPerMinute, clock }),
    tokens: new BrowserTokens(await realStore.nodes.clusterSecret()),
    ownerTokens: new OwnerTokens(await realStore.nodes.clusterSecret()),
    clock,
    publicUrl: publicUrlOf(config.http),
    publishUrls: (hostname) => [`rtmp://${hostname}/live`],
    resending: webhooks.resending,
    guard,
    metrics,
  });
  await http.ready();
  t.after(async () => {
    await http.close();
    await webhooks[Symbol.asyncDispose]();
    await sender[Symbol.asyncDispose]();
    await sequencer[Symbol.asyncDispose]();
    await realStore[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true });
  });

  /** Makes a key of the user with that name, optionally with a chosen secret and rules. The user `admin` is an admin. */
  async function makeKey(
    userName: string,
    keyName = 'key',
    secret: Secret = newApiKeySecret(),
    rules?: readonly AccessRule[],
  ): Promise<TestKey> {
    const createdAt = clock.now();
    const isAdmin = userName === 'admin';
    const user = await realStore.users.ensure({
      id: newUserId(),
      name: userName,
      createdAt,
      isAdmin,
      suspended: false,
      quotas: {},
    });
    const id = newApiKeyId();
    await realStore.apiKeys.create(
      {
        id,
        userId: user.id,
        name: keyName,
        secretHash: secret.hash(),
        createdAt,
        revokedAt: undefined,
        access: rules && { rules },
        lastSeen: ms(0),
      },
      operatorReceipt(createdAt, { action: 'api_key.created', resourceId: id }),
    );
    return { userId: user.id, id, secret: secret.reveal() };
  }

  /** Revokes a key like the command line does. */
  const revoke = ({ id }: TestKey) =>
    realStore.apiKeys.revoke(
      id,
      'everyone',
      operatorReceipt(clock.now(), { action: 'api_key.deleted', resourceId: id }),
    );

  /** Sends a request under `/api`, with a key if one is given. A body that is not text is sent as JSON. */
  async function call(
    method: InjectOptions['method'],
    path: string,
    options: { key?: TestKey; body?: unknown; headers?: Record<string, string>; remoteAddress?: string } = {},
  ) {
    const { key, body, headers, remoteAddress } = options;
    const response = await http.inject({
      method: method ?? 'GET',
      url: `/api${path}`,
      headers: {
        ...(key && { authorization: `Bearer ${key.secret}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(remoteAddress !== undefined && { remoteAddress }),
    });
    return response;
  }

  return {
    http,
    store: realStore,
    config,
    time,
    statuses,
    samples,
    thumbnails,
    viewers,
    extents,
    extentsElsewhere,
    indexes,
    attempts,
    pictures,
    lines,
    metrics,
    makeKey,
    revoke,
    call,
  };
}

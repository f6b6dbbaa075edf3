/**
 * A whole Millrace for a test, either in this process, or as the real program in a process that can be killed. It listens on free loopback
 * ports and keeps its data in a temporary folder.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startApp } from '#app.ts';
import { ensureFirstKey } from '#cli/first-key.ts';
import { readConfig } from '#config.ts';
import { Secret } from '#domain/secret.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { openStore } from '#store/open-store.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { ApiClient } from './api-client.ts';
import { putEmptyStore } from './empty-store.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { waitFor } from './wait-for.ts';

/** The longest wait for a start, which takes a second of CPU time on a machine that may be busy. */
const START_LIMIT_MS = 120_000;
const PROGRAM = join(import.meta.dirname, '../../bin/millrace.js');

/** Settings of a server in tests that do not look at the quality of renditions. */
export const CHEAP = { MILLRACE_TRANSCODE_PRESET: 'ultrafast' };

/** Timeouts of every test server. A busy machine may hold up a publisher for longer than the defaults, which limit attackers, allow. */
export const PATIENT_RTMP = {
  MILLRACE_RTMP_HANDSHAKE_TIMEOUT_S: '60',
  MILLRACE_RTMP_PUBLISH_TIMEOUT_S: '60',
  MILLRACE_RTMP_IDLE_TIMEOUT_S: '120',
};

/** How to start a server. */
export interface ServerOptions {
  /** Settings with their `MILLRACE_` prefix. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The data folder of a server that is restarted. It is kept at the end. Without this, a new folder is used, and removed at the end. */
  readonly dataDir?: string;
  /** The API key of a server that is restarted. Without this, a new key is made. */
  readonly apiKey?: string;
}

/** A running server. */
export interface TestServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  readonly httpPort: number;
  readonly metricsUrl: string;
  readonly rtmpPort: number;
  /** The port of RTMPS; 0 without a certificate. */
  readonly rtmpsPort: number;
  readonly dataDir: string;
  readonly apiKey: string;
  readonly api: ApiClient;
  /** All log lines so far, unchanged. */
  readonly logLines: readonly string[];
  /** The URL at which an encoder publishes to the stream with this key. */
  rtmpUrl(streamKey: string): string;
  /** The URL of the multivariant playlist. */
  playlistUrl(playbackId: string): string;
}

/** A server in the process of the test. */
export interface InnerServer extends TestServer {
  /** The number of requests that are being held. To ask the metrics listener for all metrics instead takes many times the CPU time. */
  heldRequests(): Promise<number>;
}

/** A server in a process of its own. */
export interface ServerProcess extends TestServer {
  readonly pid: number;
  /** Stops the server with SIGTERM. @returns the exit code */
  stop(): Promise<number | null>;
  /** Kills the server with SIGKILL, so that nothing is drained. */
  kill(): Promise<void>;
}

/**
 * Starts every part in this process.
 * @param options.clock in place of the machine's
 * @param options.longestHoldMs how long requests for media are held by the machine's clock
 */
export async function startServer(
  options: ServerOptions & { readonly clock?: Clock; readonly longestHoldMs?: number } = {},
): Promise<InnerServer> {
  await using parts = new AsyncDisposableStack();
  const dataDir = await dataFolder(parts, options);
  const apiKey = options.apiKey ?? randomKey();
  const clock = options.clock ?? systemClock;
  const config = readConfig(environment(dataDir, options));
  const logLines: string[] = [];
  const logger = createLogger(config.process.logLevel, { write: (line) => void logLines.push(line.trimEnd()) });
  const metrics = createMetrics();
  const store = parts.use(
    await openStore({ dataDir, databaseUrl: config.store.databaseUrl, exclusive: true, logger, clock, metrics }),
  );
  const bootstrapKey = new Secret(apiKey);
  await ensureFirstKey({ store, clock, logger, dataDir, terminal: undefined, bootstrapKey });
  const { addresses } = parts.use(
    await startApp(config, { store, logger, clock, metrics, longestHoldMs: options.longestHoldMs }),
  );
  const portOf = (wanted: string) => addresses.ingest.find(({ scheme }) => scheme === wanted)?.port ?? 0;
  const endpoints = {
    url: `${config.http.tlsCert === undefined ? 'http' : 'https'}://127.0.0.1:${addresses.http.port}`,
    rtmpPort: portOf('rtmp'),
    rtmpsPort: portOf('rtmps'),
    metricsUrl: `http://127.0.0.1:${addresses.metrics.port}/metrics`,
  };
  const running = parts.move();
  return {
    ...describeServer({ dataDir, apiKey, logLines }, endpoints),
    heldRequests: async () => {
      const { values } = await metrics.registry.getSingleMetric('millrace_held_requests_count')!.get();
      return Number(values[0]!.value);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/**
 * Starts the program itself, as `npx millrace serve` does, and waits until it says it is ready.
 * @param options.clockAheadMs by how much its wall clock is ahead of the machine's
 */
export async function startServerProcess(
  options: ServerOptions & { readonly clockAheadMs?: number } = {},
): Promise<ServerProcess> {
  await using parts = new AsyncDisposableStack();
  const dataDir = await dataFolder(parts, options);
  const apiKey = options.apiKey ?? randomKey();
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: {
      PATH: process.env.PATH,
      ...environment(dataDir, options),
      MILLRACE_BOOTSTRAP_API_KEY: apiKey,
      ...(options.clockAheadMs !== undefined && { NODE_OPTIONS: `--import=${clockAhead(options.clockAheadMs)}` }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  parts.defer(() => end('SIGKILL'));

  const logLines: string[] = [];
  let endpoints: Endpoints | undefined;
  createInterface(child.stdout).on('line', (line) => {
    logLines.push(line);
    endpoints ??= readyEndpoints(line);
  });
  const ready = () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${logLines.join('\n')}`);
    return endpoints;
  };
  const server = describeServer(
    { dataDir, apiKey, logLines },
    await waitFor(ready, { what: 'the ready line', timeoutMs: START_LIMIT_MS }),
  );
  const running = parts.move();
  return {
    ...server,
    pid: child.pid!,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM').then(() => child.exitCode),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The folder that the options name, or a new one. A new folder has an empty store, unless the settings name a PostgreSQL database. */
async function dataFolder(parts: AsyncDisposableStack, { dataDir, settings }: ServerOptions): Promise<string> {
  if (dataDir !== undefined) return dataDir;
  const { path } = parts.use(await temporaryFolder());
  if (settings?.MILLRACE_DATABASE_URL === undefined) await putEmptyStore(path);
  return path;
}

type Endpoints = Pick<TestServer, 'url' | 'rtmpPort' | 'rtmpsPort' | 'metricsUrl'>;

function describeServer(known: Pick<TestServer, 'dataDir' | 'apiKey' | 'logLines'>, endpoints: Endpoints) {
  return {
    ...known,
    ...endpoints,
    httpPort: Number(new URL(endpoints.url).port),
    api: new ApiClient(`${endpoints.url}/api`, known.apiKey),
    rtmpUrl: (streamKey: string) => `rtmp://127.0.0.1:${endpoints.rtmpPort}/live/${streamKey}`,
    playlistUrl: (playbackId: string) => `${endpoints.url}/hls/${playbackId}/index.m3u8`,
  };
}

function environment(dataDir: string, { settings }: ServerOptions): Record<string, string> {
  return {
    MILLRACE_HTTP_HOST: '127.0.0.1',
    MILLRACE_HTTP_PORT: '0',
    MILLRACE_RTMP_HOST: '127.0.0.1',
    MILLRACE_RTMP_PORT: '0',
    MILLRACE_RTMPS_PORT: '0',
    MILLRACE_METRICS_PORT: '0',
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_LOG_LEVEL: 'debug',
    ...PATIENT_RTMP,
    ...settings,
  };
}

/** The URL of a module that moves the wall clock of the process that imports it. */
function clockAhead(aheadMs: number): string {
  const source = `const now = Date.now; Date.now = () => now() + ${aheadMs};`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

const randomKey = (): string => `test_${randomBytes(32).toString('base64url')}`;

/** The log line that `serve` writes once it listens on all ports. Its fields are URLs. */
function readyEndpoints(line: string): Endpoints | undefined {
  const { msg, http, rtmp, rtmps, metrics } = JSON.parse(line) as Record<string, string>;
  if (msg !== 'ready' || http === undefined || metrics === undefined) return undefined;
  const portOf = (url: string | undefined) => (url === undefined ? 0 : Number(new URL(url).port));
  return { url: http, rtmpPort: portOf(rtmp), rtmpsPort: portOf(rtmps), metricsUrl: metrics };
}

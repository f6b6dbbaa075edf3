/**
 * An RTMP server on a free loopback port with a {@link RecordingGate} behind it.
 */
import type { IngestServer } from '#ingest/ingest.ts';
import { type RtmpSettings, rtmpSettings, SWEEP_MS } from '#ingest/rtmp/config.ts';
import { listenRtmp } from '#ingest/rtmp/server.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { RecordingGate } from './recording-gate.ts';
import { waitFor } from './wait-for.ts';

/** The server, the gate behind it, and its log. Disposing it closes the server. */
export interface TestRtmpServer extends AsyncDisposable {
  /** The port of RTMP without TLS. */
  readonly port: number;
  /** The port of RTMPS; 0 without a certificate. */
  readonly tlsPort: number;
  readonly gate: RecordingGate;
  readonly metrics: ReturnType<typeof createMetrics>;
  /** All log lines, unchanged. */
  readonly logLines: readonly string[];
  readonly server: IngestServer;
  /**
   * Moves the server's clock forward, after the server has handled everything that it received. Until {@link runClock} the clock moves in no
   * other way, so that nothing depends on how long a test takes.
   */
  advance(byMs: number): Promise<void>;
  /**
   * Moves the clock while this process is blocked, as if it was held up for that long. Afterwards the server's timers are due before anything is
   * read that was sent meanwhile.
   */
  holdUp(byMs: number): void;
  /** From now on the clock moves at its usual speed, but not while this process stands still. */
  runClock(): void;
}

/** The default settings of RTMP. */
export function defaultRtmpSettings(): RtmpSettings {
  const values = Object.entries(rtmpSettings).map(([key, { fallback, parse }]) => [
    key,
    fallback === undefined ? undefined : parse(fallback),
  ]);
  return Object.fromEntries(values) as unknown as RtmpSettings;
}

/**
 * @param overrides settings that differ from their defaults
 * @param certificate to be shown over RTMPS
 */
export async function startTestRtmpServer(
  overrides: Partial<RtmpSettings> = {},
  certificate?: Pick<CertificateWatch, 'current'>,
): Promise<TestRtmpServer> {
  const gate = new RecordingGate();
  const metrics = createMetrics();
  const logLines: string[] = [];
  let nowMs = 0;
  let looks = 0;
  let running: NodeJS.Timeout | undefined;
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonic: () => {
      looks += 1;
      return ms(nowMs);
    },
  };
  const logger = createLogger('debug', { write: (line) => void logLines.push(line) });
  const settings = { ...defaultRtmpSettings(), rtmpHost: '127.0.0.1', rtmpPort: 0, rtmpsPort: 0, ...overrides };
  const server = await listenRtmp({ settings, gate, clock, logger, metrics, certificate });
  const portOf = (wanted: string) => server.addresses.find(({ scheme }) => scheme === wanted)?.port ?? 0;
  return {
    port: portOf('rtmp'),
    tlsPort: portOf('rtmps'),
    gate,
    metrics,
    logLines,
    server,
    advance: async (byMs) => {
      const before = looks;
      await waitFor(() => looks > before, { what: 'the server to look at its clock' });
      nowMs += byMs;
    },
    holdUp: (byMs) => {
      nowMs += byMs;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * SWEEP_MS);
    },
    runClock: () => {
      running = setInterval(() => {
        nowMs += SWEEP_MS;
      }, SWEEP_MS);
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      clearInterval(running);
    },
  };
}

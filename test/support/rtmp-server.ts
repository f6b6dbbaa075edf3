/**
 * An RTMP server on a free loopback port with a {@link RecordingGate} behind it.
 */
import type { IngestServer } from '#ingest/ingest.ts';
import { type RtmpSettings, rtmpSettings } from '#ingest/rtmp/config.ts';
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
   * Moves the server's clock forward, so that timeouts elapse without making the test wait. Before that, the server handles everything that it
   * has received.
   */
  advance(byMs: number): Promise<void>;
  /** From now on the server's clock moves only by {@link advance}, so that nothing in a test depends on how long it takes. */
  stopClock(): void;
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
  let advancedMs = 0;
  let looks = 0;
  let stoppedAtMs: number | undefined;
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonic: () => {
      looks += 1;
      return ms((stoppedAtMs ?? systemClock.monotonic()) + advancedMs);
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
      advancedMs += byMs;
    },
    stopClock: () => {
      // A whole number, because with fractions (a + 1000) - a may be less than 1000.
      stoppedAtMs = Math.ceil(systemClock.monotonic());
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() as Promise<void>,
  };
}

/**
 * The ingest protocols Millrace speaks: a list, one entry a protocol.
 */
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { IngestSettings } from './config.ts';
import type { IngestServer, PublishGate } from './ingest.ts';
import { listenRtmp } from './rtmp/server.ts';

/** What every protocol is given. */
export interface IngestOptions {
  readonly settings: IngestSettings;
  readonly gate: PublishGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What encrypted connections are shown; without it there are none. */
  readonly certificate?: CertificateWatch | undefined;
}

/** Starts to listen; rejects when it cannot, with the system's error (`EADDRINUSE`). */
export type IngestProtocol = (options: IngestOptions) => Promise<IngestServer>;

/** Every protocol. */
export const INGEST_PROTOCOLS: readonly IngestProtocol[] = [listenRtmp];

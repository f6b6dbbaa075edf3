/**
 * The list of ingest protocols, with one entry for each.
 */
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { IngestSettings } from './config.ts';
import type { IngestServer, PublishGate } from './ingest.ts';
import { listenRtmp } from './rtmp/server.ts';

/** The options of every protocol. */
export interface IngestOptions {
  readonly settings: IngestSettings;
  readonly gate: PublishGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The certificate for encrypted connections. Without it, only unencrypted connections are accepted. */
  readonly certificate?: CertificateWatch | undefined;
}

/** Starts listening. Rejects with the system's error when it cannot (`EADDRINUSE`). */
export type IngestProtocol = (options: IngestOptions) => Promise<IngestServer>;

/** Every protocol. */
export const INGEST_PROTOCOLS: readonly IngestProtocol[] = [listenRtmp];

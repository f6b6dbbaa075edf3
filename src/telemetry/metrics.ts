/**
 * Every metric, named once (`millrace_<what>_<unit>`), in Prometheus' text format.
 */
import { Counter, collectDefaultMetrics, Gauge, type GaugeConfiguration, Histogram, Registry } from 'prom-client';

/** The metrics of one process. */
export type Metrics = ReturnType<typeof createMetrics>;

/** A registry of its own for each server, so that two can live in one test process. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    /** Also Node's own: event-loop lag, heap, handles. Once per process. */
    collectProcess: () => collectDefaultMetrics({ register: registry, prefix: 'millrace_' }),
    publishers: new ObservedGauge({
      name: 'millrace_publishers_count',
      help: 'Publishers connected and accepted',
      registers,
    }),
    sessions: new ObservedGauge<'phase'>({
      name: 'millrace_sessions_count',
      help: 'Sessions by phase',
      labelNames: ['phase'],
      registers,
    }),
    unhealthySessions: new ObservedGauge({
      name: 'millrace_unhealthy_sessions_count',
      help: 'Sessions that take media in and have an issue now',
      registers,
    }),
    viewers: new ObservedGauge({
      name: 'millrace_viewers_count',
      help: 'Viewers served by this process with a playlist request in the last 10 s',
      registers,
    }),
    heldRequests: new ObservedGauge({
      name: 'millrace_held_requests_count',
      help: 'Playlist and part requests being held',
      registers,
    }),
    mediaMemory: new ObservedGauge({
      name: 'millrace_media_memory_bytes',
      help: 'Bytes of media kept for viewers',
      registers,
    }),
    ingestBytes: new Counter({
      name: 'millrace_ingest_bytes_total',
      help: 'Bytes of media taken in',
      labelNames: ['protocol'],
      registers,
    }),
    refusals: new Counter({
      name: 'millrace_publish_refusals_total',
      help: 'Publishes refused, by code',
      labelNames: ['code'],
      registers,
    }),
    warnings: new Counter({
      name: 'millrace_session_warnings_total',
      help: 'Warnings raised on sessions, by code',
      labelNames: ['code'],
      registers,
    }),
    internalErrors: new Counter({
      name: 'millrace_internal_errors_total',
      help: 'Internal errors of the service by where they were caught; each costs one session at most',
      labelNames: ['where'],
      registers,
    }),
    certificateExpiry: new ObservedGauge<'file'>({
      name: 'millrace_tls_certificate_expiry_timestamp_seconds',
      help: 'Unix time at which the TLS certificate in use expires',
      labelNames: ['file'],
      registers,
    }),
    httpSeconds: new Histogram({
      name: 'millrace_http_request_seconds',
      help: 'Time to answer, held requests left out',
      labelNames: ['route', 'status'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
      registers,
    }),
    storeSeconds: new Histogram({
      name: 'millrace_store_seconds',
      help: 'Time until the store answered',
      labelNames: ['kind'],
      buckets: [0.0005, 0.002, 0.01, 0.05, 0.25, 1, 5],
      registers,
    }),
  };
}

/** A gauge that is read from its owners when Prometheus asks, so that nobody has to keep it up to date. */
class ObservedGauge<Label extends string = never> {
  readonly #sources: { readonly labels: Partial<Record<Label, string>>; readonly read: () => number }[] = [];

  constructor(configuration: Omit<GaugeConfiguration<Label>, 'collect'>) {
    const sources = this.#sources;
    new Gauge<Label>({
      ...configuration,
      collect() {
        for (const { labels, read } of sources) this.set(labels, read());
      },
    });
  }

  /** Reads one labelled value at every scrape. */
  observe(labels: Partial<Record<Label, string>>, read: () => number): void {
    this.#sources.push({ labels, read });
  }
}

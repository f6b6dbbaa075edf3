/**
 * Every metric, named once (`millrace_<what>_<unit>`), in Prometheus' text format.
 */
import { Counter, collectDefaultMetrics, Gauge, type GaugeConfiguration, Histogram, Registry } from 'prom-client';
import { Counts } from './counts.ts';
import { Durations } from './durations.ts';

/**
 * How often the lag of the event loop is sampled, in milliseconds. Each sample wakes the process up: every 10 ms, the library's default,
 * took 1 % of a core of an idle server.
 */
const LOOP_SAMPLE_MS = 100;

/** The metrics of one process. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes the metrics in a registry of their own, so that two servers can run in one test process. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    /** Adds Node's own metrics: event-loop lag, heap, handles. Call it once per process. */
    collectProcess: () =>
      collectDefaultMetrics({ register: registry, prefix: 'millrace_', eventLoopMonitoringPrecision: LOOP_SAMPLE_MS }),
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
      help: 'Sessions that receive media and have an issue now',
      registers,
    }),
    viewers: new ObservedGauge({
      name: 'millrace_viewers_count',
      help: 'Viewers served by this process with a playlist request in the last 10 s',
      registers,
    }),
    heldRequests: new ObservedGauge({
      name: 'millrace_held_requests_count',
      help: 'Requests for playlists and parts that are being held',
      registers,
    }),
    mediaMemory: new ObservedGauge({
      name: 'millrace_media_memory_bytes',
      help: 'Bytes of media kept for viewers',
      registers,
    }),
    recordingWaiting: new ObservedGauge({
      name: 'millrace_recording_waiting_bytes',
      help: 'Bytes of recordings that wait for the disk',
      registers,
    }),
    uploadsWaiting: new ObservedGauge({
      name: 'millrace_recording_uploads_waiting_count',
      help: 'Files of recordings that wait to be stored in the bucket',
      registers,
    }),
    uploadBytesWaiting: new ObservedGauge({
      name: 'millrace_recording_uploads_waiting_bytes',
      help: 'Bytes of recordings that wait to be stored in the bucket',
      registers,
    }),
    uploadsFailing: new ObservedGauge({
      name: 'millrace_recording_uploads_failing',
      help: '1 while recordings cannot be uploaded to the bucket, 0 otherwise',
      registers,
    }),
    ingestBytes: new Counter({
      name: 'millrace_ingest_bytes_total',
      help: 'Bytes of media received',
      labelNames: ['protocol'],
      registers,
    }),
    refusals: new Counter({
      name: 'millrace_publish_refusals_total',
      help: 'Publishes refused, by code',
      labelNames: ['code'],
      registers,
    }),
    playbackRefusals: new Counter({
      name: 'millrace_playback_refusals_total',
      help: 'Playlist and thumbnail requests refused by a playback policy, by reason',
      labelNames: ['reason'],
      registers,
    }),
    warnings: new Counter({
      name: 'millrace_session_warnings_total',
      help: 'Warnings raised on sessions, by code. A state is counted when it begins, and an event whenever it happens',
      labelNames: ['code'],
      registers,
    }),
    internalErrors: new Counter({
      name: 'millrace_internal_errors_total',
      help: 'Internal errors of the service, by where they were caught. Each ends one session at most',
      labelNames: ['where'],
      registers,
    }),
    webhookAttempts: new Counter({
      name: 'millrace_webhook_attempts_total',
      help: 'Requests sent to webhooks, by the outcome of the delivery: delivered, retry, dead or gone',
      labelNames: ['result'],
      registers,
    }),
    webhookDelay: new Histogram({
      name: 'millrace_webhook_delay_seconds',
      help: 'Time from an event to the first attempt to deliver it to a webhook',
      buckets: [0.01, 0.02, 0.05, 0.1, 0.5, 2, 10, 60],
      registers,
    }),
    webhookRequests: new ObservedGauge({
      name: 'millrace_webhook_requests_count',
      help: 'Requests to webhooks in flight',
      registers,
    }),
    eventStreams: new ObservedGauge({
      name: 'millrace_event_streams_count',
      help: 'Readers of GET /event/stream',
      registers,
    }),
    certificateExpiry: new ObservedGauge<'file'>({
      name: 'millrace_tls_certificate_expiry_timestamp_seconds',
      help: 'Unix time at which the TLS certificate in use expires',
      labelNames: ['file'],
      registers,
    }),
    httpAnswers: new Counts({
      name: 'millrace_http_answers_total',
      help: 'Answers to HTTP requests, including those to viewers',
      labelNames: ['route', 'status'],
      registers,
    }),
    httpSeconds: new Durations({
      name: 'millrace_http_request_seconds',
      help: 'Time to answer HTTP requests, without held ones',
      labelNames: ['route', 'status'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
      registers,
    }),
    storeSeconds: new Durations({
      name: 'millrace_store_seconds',
      help: 'Time until the store answered a call',
      labelNames: ['kind'],
      buckets: [0.0005, 0.002, 0.01, 0.05, 0.25, 1, 5],
      registers,
    }),
  };
}

/** A gauge that is read from its owners at every scrape, so that they need not keep it up to date. */
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

  /** Adds a labelled value, which is read at every scrape. */
  observe(labels: Partial<Record<Label, string>>, read: () => number): void {
    this.#sources.push({ labels, read });
  }
}

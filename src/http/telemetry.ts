/**
 * Metrics of the HTTP server.
 */
import type { FastifyInstance, onResponseHookHandler } from 'fastify';
import { ERRORS } from '#domain/errors.ts';
import type { Count } from '#telemetry/counts.ts';
import type { DurationObserver } from '#telemetry/durations.ts';
import type { Metrics } from '#telemetry/metrics.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether answers may be held until media exists. Their time does not measure the server's speed. */
    readonly held?: boolean;
  }
}

/**
 * The statuses of faults of the service, which alerts look for. Their counters exist from the start, because Prometheus sees no increase in a
 * series that is new.
 */
const FAILURES = new Set(
  Object.values(ERRORS)
    .filter(({ fault }) => fault === 'service')
    .map(({ status }) => status),
);

/** The metrics of the answers of one route with one status. */
interface Measured {
  readonly count: Count;
  /** Undefined where answers may be held. */
  readonly time: DurationObserver | undefined;
}

/**
 * Counts every answer by route pattern and status, and measures its time except on `held` routes. The path is never a label, because paths
 * contain ids. A request whose client left before its answer began is not counted.
 */
export function observeRequests(http: FastifyInstance, metrics: Metrics): void {
  /** Makes the hook of one route. */
  const observing = (url: string, isHeld: boolean): onResponseHookHandler => {
    // Looking labels up costs more than observing.
    const statuses = new Map<number, Measured>();
    const measuredOf = (status: number): Measured => {
      const labels = [url, String(status)] as const;
      const time = isHeld ? undefined : metrics.httpSeconds.labels(...labels);
      const measured = { count: metrics.httpAnswers.labels(...labels), time };
      statuses.set(status, measured);
      return measured;
    };
    for (const status of FAILURES) metrics.httpAnswers.labels(url, String(status));
    return (_request, reply, done) => {
      // With HTTP/2 a response also finishes when its client has left.
      if (reply.raw.headersSent) {
        const { count, time } = statuses.get(reply.statusCode) ?? measuredOf(reply.statusCode);
        count.inc();
        time?.observe(reply.elapsedTime / 1000);
      }
      done();
    };
  };
  // Each route has a hook of its own, because Fastify makes an object of a dozen fields when a request is asked for its route.
  http.addHook('onRoute', (route) => {
    route.onResponse = [...[route.onResponse ?? []].flat(), observing(route.url, route.config?.held === true)];
  });
  const observeUnknownPath = observing('none', false);
  http.addHook('onResponse', function (request, reply, done) {
    if (request.is404) observeUnknownPath.call(this, request, reply, done);
    else done();
  });
}

/**
 * Metrics of the HTTP server.
 */
import type { FastifyInstance } from 'fastify';
import type { DurationObserver } from '#telemetry/durations.ts';
import type { Metrics } from '#telemetry/metrics.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether answers may be held until media exists. Their time does not measure the server's speed. */
    readonly held?: boolean;
  }
}

/** Measures the time of every answer, except on `held` routes, by route pattern and status. Never by path, because paths contain ids. */
export function observeRequests(http: FastifyInstance, metrics: Metrics): void {
  // Looking labels up costs more than observing. Routes times statuses is a small, fixed number.
  const observers = new Map<string, DurationObserver>();
  http.addHook('onResponse', (request, reply, done) => {
    const { url = 'none', config } = request.routeOptions;
    if (!config.held) {
      const key = `${url} ${reply.statusCode}`;
      let observer = observers.get(key);
      if (!observer) {
        observer = metrics.httpSeconds.labels(url, String(reply.statusCode));
        observers.set(key, observer);
      }
      observer.observe(reply.elapsedTime / 1000);
    }
    done();
  });
}

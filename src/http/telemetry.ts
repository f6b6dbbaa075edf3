/**
 * Metrics of the HTTP server.
 */
import type { FastifyInstance, onResponseHookHandler } from 'fastify';
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
  /** Makes the hook of one route. */
  const observing = (url: string): onResponseHookHandler => {
    // Looking labels up costs more than observing.
    const observers = new Map<number, DurationObserver>();
    return (_request, reply, done) => {
      const status = reply.statusCode;
      let observer = observers.get(status);
      if (observer === undefined) {
        observer = metrics.httpSeconds.labels(url, String(status));
        observers.set(status, observer);
      }
      observer.observe(reply.elapsedTime / 1000);
      done();
    };
  };
  // Each route has a hook of its own, because Fastify makes an object of a dozen fields when a request is asked for its route.
  http.addHook('onRoute', (route) => {
    if (!route.config?.held) route.onResponse = [...[route.onResponse ?? []].flat(), observing(route.url)];
  });
  const observeUnknownPath = observing('none');
  http.addHook('onResponse', function (request, reply, done) {
    if (request.is404) observeUnknownPath.call(this, request, reply, done);
    else done();
  });
}

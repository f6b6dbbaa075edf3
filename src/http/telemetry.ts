/**
 * What the HTTP server tells of itself.
 */
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers may be held back until media exists, so their time says nothing of the server's speed. */
    readonly held?: boolean;
  }
}

const DROP_REPORT_MS = 1000;

/** Times every answer but those of `held` routes, by route pattern and status; never by path, which holds ids. */
export function observeRequests(http: FastifyInstance, metrics: Metrics): void {
  type Observer = ReturnType<Metrics['httpSeconds']['labels']>;
  // Looking labels up costs more than observing. Routes times statuses is a small, fixed number.
  const observers = new Map<string, Observer>();
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

/** Logs connections closed for being over the limit: once a second with their number, however many there are. */
export function reportDroppedConnections(server: Server, logger: Logger): void {
  let dropped = 0;
  server.on('drop', () => {
    dropped += 1;
    if (dropped > 1) return;
    setTimeout(() => {
      logger.warn(
        { dropped, limit: server.maxConnections },
        'connections closed: MILLRACE_MAX_HTTP_CONNECTIONS reached',
      );
      dropped = 0;
    }, DROP_REPORT_MS).unref();
  });
}

/**
 * Closes an HTTP server without cutting answers off, but within a bounded time.
 */
import type { FastifyInstance } from 'fastify';

/** How long requests in flight may take after a close began; the rest of the process's 5 s is for the other parts. */
const DRAIN_MS = 2000;
/** How often connections that became idle are closed meanwhile. */
const SWEEP_MS = 50;

/**
 * Makes `http.close()` end within {@link DRAIN_MS}.
 * @returns whether closing has begun: new requests are then refused
 */
export function drainOnClose(http: FastifyInstance): () => boolean {
  let closing = false;
  let sweep: NodeJS.Timeout | undefined;
  let deadline: NodeJS.Timeout | undefined;
  http.addHook('preClose', (done) => {
    closing = true;
    sweep = setInterval(() => http.server.closeIdleConnections(), SWEEP_MS);
    deadline = setTimeout(() => http.server.closeAllConnections(), DRAIN_MS);
    done();
  });
  http.addHook('onClose', (_instance, done) => {
    clearInterval(sweep);
    clearTimeout(deadline);
    done();
  });
  return () => closing;
}

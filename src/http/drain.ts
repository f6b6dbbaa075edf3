/**
 * Closes an HTTP server without cutting answers off, but within a bounded time.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How long requests in flight may take after a close began; the rest of the process's 5 s is for the other parts. */
const DRAIN_MS = 2000;
/** How often connections that became idle are closed meanwhile. */
const SWEEP_MS = 50;

/**
 * Makes `http.close()` end within {@link DRAIN_MS}. Node tells HTTP/2 connections to begin nothing new (GOAWAY) and closes
 * them after their last answer.
 * @returns whether closing has begun: new requests are then refused
 */
export function drainOnClose(http: FastifyInstance): () => boolean {
  let closing = false;
  let sweep: NodeJS.Timeout | undefined;
  let deadline: NodeJS.Timeout | undefined;
  // Node's own list leaves out HTTP/2, and those who have not finished their TLS handshake.
  const sockets = new Set<Socket>();
  http.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  http.addHook('preClose', (done) => {
    closing = true;
    sweep = setInterval(() => http.server.closeIdleConnections(), SWEEP_MS);
    deadline = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, DRAIN_MS);
    done();
  });
  http.addHook('onClose', (_instance, done) => {
    clearInterval(sweep);
    clearTimeout(deadline);
    done();
  });
  return () => closing;
}

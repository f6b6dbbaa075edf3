/**
 * Drains an HTTP server: requests in flight may finish, within a bounded time.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '#lib/clock.ts';

/** How long requests in flight may take after closing has begun. The rest of the process's 5 s is for its other parts. */
const DRAIN_MS = 2000;
/** How often idle connections are closed during that time. */
const SWEEP_MS = 50;
/** How long idle connections stay open after a preflight request, because the request that it announces comes on one of them. */
const ANNOUNCED_MS = 500;

/** Tells and controls how a server closes. */
export interface Drain {
  /** Whether closing has begun, after which the caller must refuse new requests. */
  readonly isClosing: () => boolean;
  /** Leaves idle connections open for a moment, because a client is about to send a request. Closing still completes in time. */
  readonly expectRequest: () => void;
}

/**
 * Makes `http.close()` complete within {@link DRAIN_MS}. Node itself sends GOAWAY on HTTP/2 connections and closes them after their last
 * answer.
 */
export function drainOnClose(http: FastifyInstance, clock: Clock): Drain {
  let closing = false;
  let expectedUntil = Number.NEGATIVE_INFINITY;
  let sweep: NodeJS.Timeout | undefined;
  let deadline: NodeJS.Timeout | undefined;
  // Node's own list lacks HTTP/2 connections and connections whose TLS handshake is unfinished.
  const sockets = new Set<Socket>();
  http.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  http.addHook('preClose', (done) => {
    closing = true;
    sweep = setInterval(() => {
      if (clock.monotonic() >= expectedUntil) http.server.closeIdleConnections();
    }, SWEEP_MS);
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
  return {
    isClosing: () => closing,
    expectRequest: () => {
      expectedUntil = clock.monotonic() + ANNOUNCED_MS;
    },
  };
}

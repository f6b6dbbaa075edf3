/**
 * Passes every request of a server to one handler, including those that Node itself would refuse without a body.
 */
import type { Server } from 'node:http';
import { refuseTunnel } from './client-error.ts';
import type { RequestHandler } from './request-turns.ts';

/** Attaches a handler to a server. @param nextId returns the ids of requests that the handler never gets */
export function serveRequests(server: Server, handler: RequestHandler, nextId: () => string): void {
  server.on('request', handler);
  // RFC 9110 §10.1.1 allows a server to ignore an unknown expectation.
  server.on('checkExpectation', handler);
  server.on('connect', refuseTunnel(nextId));
}

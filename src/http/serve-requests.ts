/**
 * Passes on the requests of a server, also those that Node would refuse by itself and without a body.
 */
import type { Server } from 'node:http';
import { refuseTunnel } from './client-error.ts';
import type { RequestHandler } from './request-turns.ts';

/** @param nextId gives the ids of requests that `handler` never sees */
export function serveRequests(server: Server, handler: RequestHandler, nextId: () => string): void {
  server.on('request', handler);
  // RFC 9110 §10.1.1 allows to ignore an expectation that is not known.
  server.on('checkExpectation', handler);
  server.on('connect', refuseTunnel(nextId));
}

/**
 * The server for HTTP/1.1 without TLS.
 */
import type { Server, ServerOptions } from 'node:http';
import { createServer } from '#lib/node-http.ts';
import { CHECK_MS, HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS, MAX_HEADER_BYTES, REQUEST_TIMEOUT_MS } from './limits.ts';

/** The options of a server for HTTP/1.1, with TLS or without. */
export const HTTP1_OPTIONS: ServerOptions = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // `host-header.ts` refuses a request without a host, in the form of every other error.
  requireHostHeader: false,
  // A request without a body gets no stream for one, so it never emits `end` or `close`, and counts as destroyed from the beginning.
  optimizeEmptyRequests: true,
};

/** Makes a server that speaks HTTP/1.1 only. */
export const plainServer = (): Server => createServer(HTTP1_OPTIONS);

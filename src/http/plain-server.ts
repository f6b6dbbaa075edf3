/**
 * HTTP/1.1 without TLS.
 */
import type { Server, ServerOptions } from 'node:http';
import { CHECK_MS, HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS, MAX_HEADER_BYTES, REQUEST_TIMEOUT_MS } from './limits.ts';

// Importing it by name would evaluate all it exports, a whole HTTP client with it: 25 ms and 4 MB at every start (Node 26.10).
const { createServer } = process.getBuiltinModule('node:http');

/** Options of servers of HTTP/1.1, with TLS or without. */
export const HTTP1_OPTIONS: ServerOptions = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // Our own check refuses a request without it in the shape of every error.
  requireHostHeader: false,
};

/** Makes the server that speaks HTTP/1.1 only. */
export const plainServer = (): Server => createServer(HTTP1_OPTIONS);

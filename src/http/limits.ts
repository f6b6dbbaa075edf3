/**
 * Limits on each connection, for HTTP/1.1 and HTTP/2 alike.
 */

/** The most bytes of path and headers together. */
export const MAX_HEADER_BYTES = 16_384;
/** How long the headers of a request may take to arrive, so that slow senders cannot hold connections. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** How long the whole request may take to arrive. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** How often HTTP/1.1 connections are checked for these timeouts. */
export const CHECK_MS = 2000;
/** How long an idle connection stays open: longer than the idle timeout of common proxies (60 s), so that the proxy closes first. */
export const KEEP_ALIVE_MS = 75_000;
/** The most concurrent requests on one HTTP/2 connection. A proxy may hold the playlist requests of a hundred viewers on each. */
export const MAX_STREAMS = 256;

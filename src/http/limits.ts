/**
 * What a connection may take of the server, over either version of HTTP.
 */

/** Path and headers together. */
export const MAX_HEADER_BYTES = 16_384;
/** The headers, and all of a request, must have arrived within these, so that slow senders cannot hold connections. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
/** How often HTTP/1.1 connections are looked at for that. */
export const CHECK_MS = 2000;
/** Longer than the idle time-out of common proxies (60 s), so that it is they who close. */
export const KEEP_ALIVE_MS = 75_000;
/** Requests under way on one HTTP/2 connection; a proxy may hold playlists for a hundred viewers on each of its own. */
export const MAX_STREAMS = 256;

/**
 * Determines which page a request comes from, and whether that page may play a stream.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { limitsOrigins, type PlaybackPolicy } from '#domain/playback-policy.ts';

/** Stands for the origin of a page that does not reveal it. No list of allowed origins contains it. */
const HIDDEN = 'null';

/**
 * The origin of the page that sends a request: its `Origin`, or else that of its `Referer`. Undefined when the request does not come from a
 * page of another origin, as with media players outside browsers, with the player page and with the dashboard.
 */
export function pageOriginOf({
  headers,
  host,
}: Pick<FastifyRequest, 'host'> & {
  readonly headers: Pick<IncomingHttpHeaders, 'origin' | 'referer' | 'sec-fetch-site'>;
}): string | undefined {
  const { origin, referer, 'sec-fetch-site': site } = headers;
  if (site === 'same-origin') return undefined;
  if (origin !== undefined && origin !== '' && origin !== 'null') return normalised(origin);
  if (referer !== undefined) {
    const page = URL.parse(referer);
    if (page === null) return HIDDEN;
    // Where the connection is not secure, browsers send no `Sec-Fetch-Site`. The scheme may differ behind a proxy that ends TLS.
    return page.host === URL.parse(`${page.protocol}//${host}`)?.host ? undefined : page.origin;
  }
  // Browsers send at least this header for a page that sends no referrer.
  return site === 'cross-site' || site === 'same-site' ? HIDDEN : undefined;
}

/** Whether a page may play a stream with this policy. Requests that name no page may. */
export function isAllowedOrigin(policy: PlaybackPolicy, pageOrigin: string | undefined): boolean {
  if (pageOrigin === undefined || !limitsOrigins(policy)) return true;
  return policy.allowedOrigins!.some((allowed) => normalised(allowed) === pageOrigin);
}

/** The pages that may show the player page of a stream in a frame, as sources for `Content-Security-Policy`. */
export function frameAncestorsOf(policy: PlaybackPolicy | undefined): string {
  if (policy === undefined || !limitsOrigins(policy)) return '*';
  return ["'self'", ...policy.allowedOrigins!.map(normalised)].join(' ');
}

const normalised = (origin: string): string => origin.replace(/\/$/, '').toLowerCase();

/**
 * Whether a request was made by a page of this server itself. A cookie alone proves nothing: browsers add it to requests that other pages
 * cause, and ports of one host share it.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';

/**
 * The origin of the page that made a request, which is this server's own. A browser sends `Origin` with every POST. `Sec-Fetch-Site` is absent
 * where the connection is not secure, so it is only checked when it is present.
 * @param publicUrl the origin that the operator has set, which counts beside the one that the request names
 * @throws {MillraceError} `origin_not_allowed`
 */
export function ownOrigin(request: FastifyRequest, publicUrl: string | undefined): string {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const named = `${request.protocol === 'https' ? 'https' : 'http'}://${request.host}`;
  const isOwn = origin !== undefined && (origin === named || origin === publicUrl);
  if (isOwn && (site === undefined || site === 'same-origin')) return origin;
  throw new MillraceError(
    'origin_not_allowed',
    'Only the dashboard of this server may ask this. Behind a reverse proxy, set MILLRACE_PUBLIC_URL, or MILLRACE_TRUSTED_PROXIES and forward the host and the scheme.',
  );
}

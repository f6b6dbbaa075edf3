/**
 * Checks that a request was made by a page of this server itself. The cookie alone does not prove this: browsers also add it to requests
 * that other pages cause, and all ports of a host share it.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';

/**
 * Returns the origin of the page that made a request, if it is this server's own. Browsers send `Origin` with every POST. They do not send
 * `Sec-Fetch-Site` where the connection is not secure, so it is checked only when it is present.
 * @param publicUrl the origin that the operator has set. It is accepted as well as the origin to which the request was sent
 * @throws {MillraceError} `origin_not_allowed` when the request is from another page
 */
export function ownOrigin(request: FastifyRequest, publicUrl: string | undefined): string {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const named = `${request.protocol === 'https' ? 'https' : 'http'}://${request.host}`;
  const isOwn = origin !== undefined && (origin === named || origin === publicUrl);
  if (isOwn && (site === undefined || site === 'same-origin')) return origin;
  throw new MillraceError(
    'origin_not_allowed',
    'Only the dashboard of this server may send this request. Behind a reverse proxy, set MILLRACE_PUBLIC_URL, or MILLRACE_TRUSTED_PROXIES and forward the host and the scheme.',
  );
}

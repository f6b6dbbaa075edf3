/**
 * The URL at which clients reach this server, for the absolute URLs in answers.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { HttpSettings } from './config.ts';
import { isHost } from './host-header.ts';

/** Returns the origin (`https://live.example.com`, without a slash at the end) at which the sender of a request reaches this server. */
export type PublicUrl = (request: FastifyRequest) => string;

/**
 * Makes a function that returns `PUBLIC_URL` when it is set, and otherwise the origin that the request names, with `X-Forwarded-Proto` and
 * `-Host` of trusted proxies. It throws {@link MillraceError} `invalid_request` when the request names no usable host.
 */
export function publicUrlOf(settings: Pick<HttpSettings, 'publicUrl'>): PublicUrl {
  const { publicUrl } = settings;
  if (publicUrl !== undefined) return () => publicUrl;
  return (request) => {
    const host = request.host;
    if (!isHost(host)) {
      throw new MillraceError('invalid_request', 'The Host header is not a host name; send the one you connected to.');
    }
    return `${request.protocol === 'https' ? 'https' : 'http'}://${host}`;
  };
}

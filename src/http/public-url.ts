/**
 * The URL clients reach this server by, for the absolute URLs in answers.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { HttpSettings } from './config.ts';
import { isHost } from './host-header.ts';

/** Gives the origin (`https://live.example.com`, no slash at the end) that the sender of a request reaches us by. */
export type PublicUrl = (request: FastifyRequest) => string;

/**
 * `PUBLIC_URL` when it is set; otherwise what the request says, with `X-Forwarded-Proto` and `-Host` of trusted proxies.
 * The function throws {@link MillraceError} `invalid_request` when the request names no usable host.
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

/**
 * The cookie of a browser session. Browsers send it back to every port of the host, so its name has the port, and only the routes of
 * `session-routes.ts` read it.
 */
import type { CookieSerializeOptions } from '@fastify/cookie';
import { SESSION_LIFE_MS } from '#domain/browser-session.ts';

/** A cookie as it is set. */
export interface SessionCookie {
  readonly name: string;
  readonly attributes: CookieSerializeOptions;
}

/**
 * The cookie for pages of an origin. With TLS its prefix makes browsers refuse one that was set by another host, or without TLS.
 * @param origin the dashboard's own, as in `https://live.example.com`
 */
export function sessionCookie(origin: string): SessionCookie {
  const { protocol, port } = new URL(origin);
  const common = { path: '/', httpOnly: true, sameSite: 'strict', maxAge: SESSION_LIFE_MS / 1000 } as const;
  if (protocol === 'https:') {
    return { name: `__Host-millrace${port === '' ? '' : `-${port}`}`, attributes: { ...common, secure: true } };
  }
  return { name: `millrace-${port === '' ? '80' : port}`, attributes: common };
}

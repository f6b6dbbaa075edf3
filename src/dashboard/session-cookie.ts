/**
 * The cookie of a browser session. Browsers send it to every port of the host, so the port is part of its name. Only the routes of
 * `session-routes.ts` read it.
 */
import type { CookieSerializeOptions } from '@fastify/cookie';
import { SESSION_LIFE_MS } from '#domain/browser-session.ts';

/** The name and the attributes of a cookie. */
export interface SessionCookie {
  readonly name: string;
  readonly attributes: CookieSerializeOptions;
}

/**
 * The cookie for pages of an origin. With TLS its name begins with `__Host-`, so browsers refuse a cookie of this name that was set by
 * another host or without TLS.
 * @param origin the origin of the dashboard, such as `https://live.example.com`
 */
export function sessionCookie(origin: string): SessionCookie {
  const { protocol, port } = new URL(origin);
  const common = { path: '/', httpOnly: true, sameSite: 'strict', maxAge: SESSION_LIFE_MS / 1000 } as const;
  if (protocol === 'https:') {
    return { name: `__Host-millrace${port === '' ? '' : `-${port}`}`, attributes: { ...common, secure: true } };
  }
  return { name: `millrace-${port === '' ? '80' : port}`, attributes: common };
}

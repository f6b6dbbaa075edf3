/**
 * The routes for signing in and out, and the route that gives the pages a token for the API in exchange for the cookie. The token lives for
 * ten minutes, and pages keep it in memory. The API itself never reads cookies.
 */
import cookie, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { isOver, SESSION_LIFE_MS, SIGN_INS_PER_MINUTE, TOKEN_LIFE_MS } from '#domain/browser-session.ts';
import { MillraceError } from '#domain/errors.ts';
import { newBrowserSecret, Secret } from '#domain/secret.ts';
import { Type } from '#lib/schema.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import { ms } from '#lib/units.ts';
import type { OpenBrowserSession } from '#store/store.ts';
import { beginSession, sessionReceipt } from './begin-session.ts';
import type { DashboardOptions } from './options.ts';

/** The time and the address of a session's last use are stored when the stored time is older than this, or the address has changed. */
const SEEN_EVERY_MS = 60_000;

const CredentialsSchema = Type.Object(
  {
    link: Type.Optional(Type.String({ maxLength: 1000, description: 'what follows the # of a sign-in link' })),
    key: Type.Optional(Type.String({ maxLength: 1000, description: 'an API key' })),
  },
  { additionalProperties: false },
);

/** Adds the routes. Requests from any page but the dashboard itself are refused, whatever credentials they have. */
export async function sessionRoutes(http: FastifyInstance, options: DashboardOptions): Promise<void> {
  const { store, clock, publicUrl } = options;
  const signIns = new TokenBuckets({ perMinute: SIGN_INS_PER_MINUTE, clock });
  const cookieOf = (request: FastifyRequest) => sessionCookie(ownOrigin(request, publicUrl));
  await http.register(cookie);
  http.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    ownOrigin(request, publicUrl);
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
      throw new MillraceError(
        'unsupported_media_type',
        'The body must be JSON; send it with the header content-type: application/json.',
      );
    }
  });

  http.post<{ Body: Static<typeof CredentialsSchema> }>(
    '/dashboard/session',
    { schema: { body: CredentialsSchema } },
    async (request, reply) => {
      const { link, key } = request.body;
      if ((link === undefined) === (key === undefined)) {
        throw new MillraceError('invalid_body', 'The body must have either the field link or the field key.');
      }
      const secret = newBrowserSecret();
      const presented = link === undefined ? { key: new Secret(key!) } : { link: new Secret(link) };
      const open = await beginSession({ ...options, signIns }, request, presented, secret);
      const { name, attributes } = cookieOf(request);
      return await reply
        .setCookie(name, secret.reveal(), attributes)
        .code(201)
        .send(await answerOf(options, open));
    },
  );

  http.post('/dashboard/session/token', async (request, reply) => {
    const { name, attributes } = cookieOf(request);
    const open = await sessionOf(options, request, name);
    if (open === undefined) {
      reply.clearCookie(name, attributes);
      throw new MillraceError('unauthenticated', 'You are signed out; sign in again.');
    }
    const { session, user } = open;
    if (user.suspended) {
      throw new MillraceError('user_suspended', 'This user is suspended; ask an admin to resume it.');
    }
    const now = clock.now();
    if (now - session.lastSeen >= SEEN_EVERY_MS || session.address !== request.ip) {
      await store.browserSessions.seen(session.id, now, request.ip);
    }
    return await answerOf(options, open);
  });

  http.post('/dashboard/session/end', async (request, reply) => {
    const { name, attributes } = cookieOf(request);
    const open = await sessionOf(options, request, name);
    if (open !== undefined) {
      const { session } = open;
      const receipt = sessionReceipt(request, open, 'browser_session.deleted', clock.now());
      await store.browserSessions.end(session.id, session.userId, receipt);
    }
    return await reply.clearCookie(name, attributes).code(204).send();
  });
}

/**
 * Returns the origin of the page that made a request, if it is this server's own. The cookie alone does not prove that a page of this server
 * made the request, because browsers also add it to requests that other pages cause, and all ports of a host share it. Browsers send `Origin`
 * with every POST. They do not send `Sec-Fetch-Site` where the connection is not secure, so it is checked only when it is present.
 * @param publicUrl the origin that the operator has set. It is accepted as well as the origin to which the request was sent
 * @throws {MillraceError} `origin_not_allowed` when the request is from another page
 */
function ownOrigin(request: FastifyRequest, publicUrl: string | undefined): string {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const named = `${request.protocol === 'https' ? 'https' : 'http'}://${request.host}`;
  const isOwn = origin !== undefined && (origin === named || origin === publicUrl);
  if (isOwn && (site === undefined || site === 'same-origin')) return origin;
  throw new MillraceError(
    'origin_not_allowed',
    'Only the dashboard of this server may send this request. Behind a reverse proxy, set MILLRACE_PUBLIC_URL, or MILLRACE_TRUSTED_PROXIES and forward the host and the scheme.',
  );
}

/**
 * The name and the attributes of the cookie for pages of an origin. Browsers send it to every port of the host, so the port is part of its
 * name. With TLS its name begins with `__Host-`, so browsers refuse a cookie of this name that was set by another host or without TLS.
 * @param origin the origin of the dashboard, such as `https://live.example.com`
 */
function sessionCookie(origin: string): { readonly name: string; readonly attributes: CookieSerializeOptions } {
  const { protocol, port } = new URL(origin);
  const common = { path: '/', httpOnly: true, sameSite: 'strict', maxAge: SESSION_LIFE_MS / 1000 } as const;
  if (protocol === 'https:') {
    return { name: `__Host-millrace${port === '' ? '' : `-${port}`}`, attributes: { ...common, secure: true } };
  }
  return { name: `millrace-${port === '' ? '80' : port}`, attributes: common };
}

/** The session of the cookie with this name. Undefined when there is none, or when it has ended. */
async function sessionOf(
  { store, clock }: DashboardOptions,
  { cookies, ip }: FastifyRequest,
  name: string,
): Promise<OpenBrowserSession | undefined> {
  const secret = cookies[name];
  const open = secret === undefined ? undefined : await store.browserSessions.byHash(new Secret(secret).hash(), ip);
  return open === undefined || isOver(open, clock.now()) ? undefined : open;
}

/** The answer for the pages: the token for the API, who is signed in, and the newest event. The pages read the events after that one. */
async function answerOf({ store, tokens, clock }: DashboardOptions, { session, user, key }: OpenBrowserSession) {
  const expiresAt = ms(clock.now() + TOKEN_LIFE_MS);
  return {
    token: tokens.issue(session.id, expiresAt).reveal(),
    expiresAt,
    // If events cannot be read, the user is signed in nevertheless, because the link is used up. The pages then read events from now on.
    lastEventId: await store.events.last().catch(() => undefined),
    sessionId: session.id,
    user: { id: user.id, name: user.name, isAdmin: user.isAdmin },
    ...(key && { key: { id: key.id, name: key.name, ...(key.access && { access: key.access }) } }),
  };
}

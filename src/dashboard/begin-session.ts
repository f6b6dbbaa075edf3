/**
 * Begins a browser session for a user who presents a sign-in link or an API key.
 */
import type { FastifyRequest } from 'fastify';
import type { AuditAction } from '#domain/audit.ts';
import type { BrowserSession } from '#domain/browser-session.ts';
import { MillraceError } from '#domain/errors.ts';
import { newAuditId, newBrowserSessionId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { Soon } from '#lib/soon.ts';
import type { TokenBuckets } from '#lib/token-buckets.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Receipt } from '#store/receipt.ts';
import type { OpenBrowserSession } from '#store/store.ts';
import type { DashboardOptions } from './options.ts';

/** What {@link beginSession} needs. */
export interface BeginOptions extends DashboardOptions {
  /** Limits how often a session begins with each API key. */
  readonly signIns: TokenBuckets;
}

/** What a user signs in with. */
type Presented = { readonly link: Secret } | { readonly key: Secret };

/**
 * Begins a session. A session that began with an API key has the rules of that key and ends with it. A session that began with a link may
 * do everything that its user may do, because links are made on the server's machine. Wrong links and keys are counted together with the
 * wrong API keys of the address.
 * @param cookie the secret that the browser will keep; only its hash is stored
 * @throws {MillraceError} `unauthenticated`, `user_suspended`, `too_many_attempts`, or `too_many_requests`
 */
export async function beginSession(
  options: BeginOptions,
  request: FastifyRequest,
  presented: Presented,
  cookie: Secret,
): Promise<OpenBrowserSession> {
  const { store, throttle, clock, signIns, onKeyUse } = options;
  const attempt = async <Found>(look: () => Soon<Found | undefined>): Promise<Found | undefined> => {
    const { waitS, found } = await throttle.attempt(request.ip, look);
    if (waitS === 0) return found;
    throw new MillraceError(
      'too_many_attempts',
      `Too many wrong keys or links came from this address; wait ${waitS} seconds, then try again.`,
      { retryAfterS: waitS },
    );
  };
  const now = clock.now();
  const begin = (
    user: User,
    key: ApiKey | undefined,
  ): { readonly open: OpenBrowserSession; readonly receipt: Receipt } => {
    if (user.suspended) {
      throw new MillraceError('user_suspended', 'This user is suspended; ask an admin to resume it.');
    }
    const session: BrowserSession = {
      id: newBrowserSessionId(),
      userId: user.id,
      keyId: key?.id,
      secretHash: cookie.hash(),
      createdAt: now,
      lastSeen: now,
      address: request.ip,
    };
    const open = { session, user, key };
    return { open, receipt: sessionReceipt(request, open, 'browser_session.created', now) };
  };

  if ('key' in presented) {
    const hash = presented.key.hash();
    const found = await attempt(() => store.apiKeys.byHash(hash, request.ip));
    if (found === undefined) {
      throw new MillraceError(
        'unauthenticated',
        'This API key is not valid; it may have been revoked. Use another one.',
      );
    }
    const { open, receipt } = begin(found.user, found.key);
    const { allowed, retryAfterS } = signIns.take(found.key.id);
    if (!allowed) {
      throw new MillraceError(
        'too_many_requests',
        `More than ${signIns.limit} browsers signed in with this API key within a minute; wait as long as Retry-After says.`,
        { retryAfterS },
      );
    }
    await store.browserSessions.create(open.session, receipt);
    await store.apiKeys.seen(new Map([[found.key.id, now]]));
    onKeyUse?.(found.key.id);
    return open;
  }
  const found = await attempt(async () => {
    const link = await store.browserSessions.link(presented.link.hash(), request.ip);
    const user = link === undefined ? undefined : await store.users.get(link.userId);
    return link && user && { link, user };
  });
  if (found !== undefined) {
    const { open, receipt } = begin(found.user, undefined);
    if (await store.browserSessions.useLink(found.link, open.session, receipt)) return open;
    throttle.failed(request.ip);
  }
  throw new MillraceError(
    'unauthenticated',
    'This link was used already, or its 15 minutes are over. Make another one on the server with: npx millrace sign-in',
  );
}

/** The receipt of a session that begins or ends, with the entry for the audit log. */
export function sessionReceipt(
  request: FastifyRequest,
  { session, user, key }: OpenBrowserSession,
  action: AuditAction,
  at: Milliseconds,
): Receipt {
  return {
    audit: {
      id: newAuditId(),
      at: ms(at),
      actor: { userId: user.id, keyId: key?.id ?? session.id, keyName: key?.name ?? 'dashboard' },
      action,
      resourceId: session.id,
      fields: [],
      remoteAddress: request.ip,
      requestId: request.id,
    },
  };
}

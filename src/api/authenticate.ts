/**
 * Authenticates a request by `authorization: Bearer <API key>`, before its body is read. The dashboard sends the token of its browser session
 * instead of a key.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { ApiKeyId, BrowserSessionId, StreamId, UserId, WebhookId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Secret } from '#domain/secret.ts';
import type { ApiKey } from '#domain/user.ts';
import { type Soon, whenKnown } from '#lib/soon.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Scope } from '#store/page.ts';
import { AccessJudge } from './access.ts';
import type { ApiOptions } from './api.ts';
import type { Credential, FindCredential } from './credentials.ts';
import type { KeyUse } from './key-use.ts';
import { PresentedKeys } from './presented-key.ts';
import type { RawQuery } from './query.ts';
import type { RateLimit } from './rate-limit.ts';
import { readScope } from './scope.ts';

/** The authenticated sender of a request. */
export interface Caller {
  readonly userId: UserId;
  /** The API key used. For a browser session that was made with a sign-in link, the session. */
  readonly keyId: ApiKeyId | BrowserSessionId;
  /** The name of the API key used, or `dashboard`. */
  readonly keyName: string;
  /** The browser session whose token was presented, if it was not an API key. */
  readonly browserSessionId: BrowserSessionId | undefined;
  /** Whether the user may manage users and their keys, read the audit log, and do to other users' streams whatever their owners may. */
  readonly isAdmin: boolean;
  /** The users whose streams and sessions the request may see and change. */
  readonly scope: Scope;
  /** What the key may be used for. See {@link ApiKey.access}. */
  readonly access: ApiKey['access'];
  /** Whether the key's rules allow the caller to see and use the stream key of a stream. */
  readonly mayPublish: (streamId: StreamId) => boolean;
  /** Whether the key's rules allow the caller to change a webhook, and therefore to see its secret. */
  readonly mayChangeWebhook: (webhookId: WebhookId) => boolean;
  /** The quotas that apply to the user. */
  readonly quotas: Quotas;
  /** The time at which the request was authenticated. */
  readonly at: Milliseconds;
}

/** The users whose API keys a caller may see and revoke. An admin manages those of everybody. */
export const keyScopeOf = ({ isAdmin, userId }: Caller): Scope => (isAdmin ? 'everyone' : userId);

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authentication hook. Only routes with that hook may read it. */
    caller: Caller;
  }
}

/** The largest number of pairs of address and key that are remembered as valid. */
const MAX_KNOWN_GOOD = 10_000;

/** What the hook needs. */
export interface AuthenticateOptions extends Pick<ApiOptions, 'throttle' | 'tokens' | 'clock' | 'quotas'> {
  readonly findCredential: FindCredential;
  readonly rateLimit: RateLimit;
  readonly keyUse: Pick<KeyUse, 'note'>;
  /** The path prefix of the API. Paths in access rules are relative to it. */
  readonly prefix: string;
}

/**
 * Makes the authentication hook. It checks the key, its user, the rate limit and the access rules, in this order. It asks the store at
 * every request, so that a revoked key is refused from the next request on.
 *
 * An address that sent too many wrong keys gets 429, and its keys are not checked. A key that was valid from the same address before is
 * still checked. Otherwise one client with a stale key would lock out all others behind its NAT or proxy. A guesser gains nothing by this
 * exception.
 *
 * A token that a node issued is not a guess. It is always checked, and never counts as a wrong key, because a browser that wakes from sleep
 * may send an expired one in many requests at once.
 */
export function createAuthenticate(options: AuthenticateOptions): onRequestHookHandler {
  const { findCredential, throttle, tokens, clock, quotas, rateLimit, keyUse, prefix } = options;
  const judge = new AccessJudge();
  const presentedKeys = new PresentedKeys();
  const knownGood = new KnownGood();

  /** Finds whom the key of a request stands for. @throws {MillraceError} `unauthenticated`, `too_many_attempts` */
  const find = (request: FastifyRequest): Soon<Credential> => {
    const presented = presentedKeys.of(request);
    if (tokens.issued(presented)) return whenKnown(findCredential(presented), mustBeValid);
    const { ip } = request;
    if (!knownGood.has(presented, ip)) return attempt(presented, ip);
    return whenKnown(findCredential(presented), (found) => {
      if (found === undefined) {
        throttle.failed(ip);
        knownGood.delete(presented, ip);
      }
      return mustBeValid(found);
    });
  };

  /** Finds whom a key stands for when the key was not valid from this address before. */
  const attempt = async (presented: Secret, ip: string): Promise<Credential> => {
    const { waitS, found } = await throttle.attempt(ip, () => findCredential(presented, ip));
    if (waitS > 0) {
      throw new MillraceError(
        'too_many_attempts',
        `Too many wrong keys came from this address; wait ${waitS} seconds, then send a valid API key.`,
        { retryAfterS: waitS },
      );
    }
    const valid = mustBeValid(found);
    knownGood.add(presented, ip);
    return valid;
  };

  /** Sets the caller of a request. @throws {MillraceError} when the caller may not make the request */
  const admit = (found: Credential, request: FastifyRequest, reply: FastifyReply): void => {
    const { key, user, access } = found;
    const at = clock.now();
    if (key !== undefined) keyUse.note(key.id, at);
    if (user.suspended) {
      throw new MillraceError('user_suspended', 'The user of this API key is suspended; ask an admin to resume it.');
    }
    const ownQuotas = quotasOf(user, quotas);
    rateLimit.take(found, { id: user.id, quotas: ownQuotas }, reply);
    if (access !== undefined) mustBeAllowed(judge, found, request, prefix);
    const { id: userId, isAdmin } = user;
    const scope = readScope(request.query as RawQuery, { userId, isAdmin });
    request.caller = {
      userId,
      keyId: found.id,
      keyName: found.name,
      browserSessionId: found.sessionId,
      isAdmin,
      scope,
      access,
      mayPublish: (streamId) => judge.allows(found, 'publish', ['stream', streamId]),
      mayChangeWebhook: (webhookId) => judge.allows(found, 'PATCH', ['webhook', webhookId]),
      quotas: ownQuotas,
      at,
    };
  };

  // The hook calls back instead of returning a promise, so that a request whose key and stream are remembered needs no promise at all.
  return (request, reply, done) => {
    const found = find(request);
    if (found instanceof Promise) {
      const goOn = () => done();
      found.then((credential) => admit(credential, request, reply)).then(goOn, done);
      return;
    }
    admit(found, request, reply);
    done();
  };
}

/** The keys that were valid, with the addresses that presented them. When there are too many, all are forgotten. */
class KnownGood {
  /** Addresses by the hash of the key. The two are not joined into one text, which would have to be hashed at every request. */
  readonly #addresses = new Map<string, Set<string>>();
  #count = 0;

  has(key: Secret, address: string): boolean {
    return this.#addresses.get(key.hash())?.has(address) ?? false;
  }

  add(key: Secret, address: string): void {
    if (this.#count >= MAX_KNOWN_GOOD) {
      this.#addresses.clear();
      this.#count = 0;
    }
    const addresses = this.#addresses.get(key.hash()) ?? new Set();
    if (addresses.has(address)) return;
    this.#addresses.set(key.hash(), addresses.add(address));
    this.#count += 1;
  }

  delete(key: Secret, address: string): void {
    const addresses = this.#addresses.get(key.hash());
    if (addresses?.delete(address) !== true) return;
    this.#count -= 1;
    if (addresses.size === 0) this.#addresses.delete(key.hash());
  }
}

function mustBeValid(found: Credential | undefined): Credential {
  if (found !== undefined) return found;
  throw new MillraceError('unauthenticated', 'The API key is not valid; it may have been revoked. Use another one.');
}

/**
 * Hook of routes that only admins may call. It must run after the authentication hook.
 * @throws {MillraceError} `admin_only`
 */
export const adminOnly: onRequestHookHandler = (request, _reply, done) => {
  if (request.caller.isAdmin) done();
  else done(new MillraceError('admin_only', 'Only an admin may do this; use an API key of an admin.'));
};

/** Checks the access rules of the key. @throws {MillraceError} `insufficient_scope` when they do not allow the request */
function mustBeAllowed(judge: AccessJudge, key: Credential, request: FastifyRequest, prefix: string): void {
  const pattern = (request.routeOptions.url ?? '').slice(prefix.length);
  const params = request.params as Readonly<Record<string, string>>;
  const path = pattern
    .slice(1)
    .split('/')
    .map((segment) => (segment.startsWith(':') ? (params[segment.slice(1)] ?? '') : segment));
  if (judge.allows(key, request.method, path)) return;
  throw new MillraceError(
    'insufficient_scope',
    `This API key may not ${request.method} ${pattern}; use one whose access.rules allow it.`,
  );
}

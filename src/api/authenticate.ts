/**
 * Who is calling: `authorization: Bearer <API key>`, judged before the body is read.
 */
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { ApiKeyId, UserId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import type { ApiKey } from '#domain/user.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Scope } from '#store/store.ts';
import type { ApiOptions } from './api.ts';

/** On whose behalf a request is made. */
export interface Caller {
  readonly userId: UserId;
  readonly keyId: ApiKeyId;
  /** Name of the API key used. */
  readonly keyName: string;
  /** May manage users, read the audit log and do what any owner may. */
  readonly isAdmin: boolean;
  /** What the key may be used for; see {@link ApiKey.access}. */
  readonly access: ApiKey['access'];
  /** When it was let in. */
  readonly at: Milliseconds;
}

/** Whose records a caller may see and change. */
export const scopeOf = ({ isAdmin, userId }: Caller): Scope => (isAdmin ? 'everyone' : userId);

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authentication hook; only routes with that hook may read it. */
    caller: Caller;
  }
}

const BEARER = /^ *bearer +(.*\S) *$/i;
/** Pairs of address and key remembered as good. */
const MAX_KNOWN_GOOD = 10_000;

/**
 * The hook. It asks the store at every request, so a key works until the request after its revocation and no longer.
 *
 * An address that was wrong too often gets 429 and its keys are not judged. A key that was right from the same address before
 * is judged all the same: otherwise one client with a stale key would lock out all others behind its NAT or proxy, and
 * a guesser gains nothing by it.
 */
export function createAuthenticate({
  store,
  throttle,
  clock,
}: Pick<ApiOptions, 'store' | 'throttle' | 'clock'>): onRequestAsyncHookHandler {
  const knownGood = new Set<string>();
  return async (request) => {
    const hash = presentedKey(request).hash();
    const pair = `${hash} ${request.ip}`;
    const waitS = throttle.retryAfterS(request.ip);
    if (waitS > 0 && !knownGood.has(pair)) {
      throw new MillraceError(
        'too_many_attempts',
        `Too many wrong keys came from this address; wait ${waitS} seconds, then send a valid API key.`,
        { retryAfterS: waitS },
      );
    }
    const found = await store.apiKeys.byHash(hash);
    if (!found) {
      knownGood.delete(pair);
      throttle.failed(request.ip);
      throw new MillraceError(
        'unauthenticated',
        'The API key is not valid; it may have been revoked. Use another one.',
      );
    }
    if (!knownGood.has(pair)) {
      if (knownGood.size >= MAX_KNOWN_GOOD) knownGood.clear();
      knownGood.add(pair);
    }
    const { key, user } = found;
    if (user.suspended) {
      throw new MillraceError('user_suspended', 'The user of this API key is suspended; ask an admin to resume it.');
    }
    request.caller = {
      userId: user.id,
      keyId: key.id,
      keyName: key.name,
      isAdmin: user.isAdmin,
      access: key.access,
      at: clock.now(),
    };
  };
}

function presentedKey({ headers }: FastifyRequest): Secret {
  const header = headers.authorization;
  const key = header === undefined ? undefined : BEARER.exec(header)?.[1];
  if (key === undefined) {
    throw new MillraceError(
      'unauthenticated',
      'This request needs an API key; send it in the header authorization: Bearer <API_KEY>.',
    );
  }
  // Node gives header bytes as Latin-1, while a key chosen by the operator is hashed as UTF-8.
  return new Secret(Buffer.from(key, 'latin1').toString());
}

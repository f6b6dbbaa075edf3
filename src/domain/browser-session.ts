/**
 * The session of a browser that is signed in to the dashboard, and the one-time links that begin one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Milliseconds, ms } from '#lib/units.ts';
import { type ApiKeyId, type BrowserSessionId, isUuid, type UserId } from './ids.ts';
import { Secret } from './secret.ts';
import type { ApiKey } from './user.ts';

/** Milliseconds without use after which a session has ended, unless its key may only read. */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** Milliseconds after which a session has ended in any case. */
export const SESSION_LIFE_MS = 30 * 24 * 3_600_000;
/** Milliseconds that a sign-in link is valid. */
export const LINK_LIFE_MS = 15 * 60_000;
/** Milliseconds that the bearer token of a session is valid. */
export const TOKEN_LIFE_MS = 10 * 60_000;

/**
 * The most sessions of one user that began with the same API key, and the most that began with links. Another one ends the oldest that began
 * in the same way, so whoever has a key, even one that may do nothing, cannot end sessions that began in another way.
 */
export const MAX_SESSIONS = 100;
/** The most sessions that begin with one API key in a minute, on each server. */
export const SIGN_INS_PER_MINUTE = 30;

/** A browser that is signed in. It ends when its row is deleted, its key is revoked, or it was not used for too long. */
export interface BrowserSession {
  readonly id: BrowserSessionId;
  readonly userId: UserId;
  /** The API key that it was made with, whose rules apply to it. Undefined for one made with a link, which may do all that its user may. */
  readonly keyId: ApiKeyId | undefined;
  /** SHA-256 of the cookie's value, lower-case hex. */
  readonly secretHash: string;
  readonly createdAt: Milliseconds;
  /** When it was last used, accurate to {@link TOKEN_LIFE_MS}. */
  readonly lastSeen: Milliseconds;
  /** The address that it was last used from. */
  readonly address: string;
}

/** A link that signs in once. A user has one at most. */
export interface SignInLink {
  readonly userId: UserId;
  /** SHA-256 of the secret after the `#` of the link's URL, lower-case hex. */
  readonly secretHash: string;
  readonly expiresAt: Milliseconds;
}

/**
 * Whether a session has ended because of its age, or because it was not used. A session that may only read, such as that of a dock in OBS,
 * does not end for lack of use, so that somebody who streams once a day need not sign in each time.
 * @param open.key the key that the session was made with. Undefined when it was made with a link, or the key is revoked
 */
export function isOver(
  {
    session: { createdAt, lastSeen },
    key,
  }: { readonly session: BrowserSession; readonly key: Pick<ApiKey, 'access'> | undefined },
  now: Milliseconds,
): boolean {
  if (now >= createdAt + SESSION_LIFE_MS) return true;
  return now >= lastSeen + SESSION_IDLE_MS && !mayOnlyRead(key);
}

/** Whether a key has rules, and each of them allows only reading. */
function mayOnlyRead(key: Pick<ApiKey, 'access'> | undefined): boolean {
  const rules = key?.access?.rules ?? [];
  return rules.length > 0 && rules.every(({ methods = [] }) => methods.length === 1 && methods[0] === 'get');
}

/** What every bearer token begins with. */
const TOKEN_PREFIX = 'browser.';
/** The form of a bearer token: the session's id, the end of its life, and a signature. */
const TOKEN = /^browser\.([0-9a-f-]{36})\.([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})$/;

/**
 * Makes and reads the bearer tokens of browser sessions. A token says which session it belongs to, and the reader looks that session up,
 * so that a token ends with its session.
 */
export class BrowserTokens {
  readonly #secret: Secret;

  /** @param secret the secret of all nodes, so that each accepts the tokens of the others */
  constructor(secret: Secret) {
    this.#secret = secret;
  }

  /** A token that is valid until `expiresAt`. */
  issue(id: BrowserSessionId, expiresAt: Milliseconds): Secret {
    const contents = `${id}.${expiresAt.toString(36)}`;
    return new Secret(`${TOKEN_PREFIX}${contents}.${this.#sign(contents).toString('base64url')}`);
  }

  /** The session that a token belongs to. Undefined when no node issued it, or its time is over. */
  read(token: Secret, now: Milliseconds): BrowserSessionId | undefined {
    const issued = this.#verify(token);
    return issued === undefined || issued.expiresAt <= now ? undefined : issued.id;
  }

  /** Whether a node issued a token, even if it has expired or its session has ended. Whoever presents such a token is not guessing. */
  issued(token: Secret): boolean {
    return this.#verify(token) !== undefined;
  }

  #verify(token: Secret): { readonly id: BrowserSessionId; readonly expiresAt: Milliseconds } | undefined {
    const text = token.reveal();
    // Nearly every other credential is an API key, which is recognized fastest in this way.
    if (!text.startsWith(TOKEN_PREFIX)) return undefined;
    const [, id = '', expiry = '', signature = ''] = TOKEN.exec(text) ?? [];
    if (!isUuid(id)) return undefined;
    const given = Buffer.from(signature, 'base64url');
    const right = this.#sign(`${id}.${expiry}`);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    return { id: id as BrowserSessionId, expiresAt: ms(Number.parseInt(expiry, 36)) };
  }

  #sign(contents: string): Buffer {
    return createHmac('sha256', this.#secret.reveal()).update(`millrace browser token ${contents}`).digest();
  }
}

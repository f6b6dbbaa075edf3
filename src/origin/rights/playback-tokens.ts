/**
 * Playback tokens: JSON Web Tokens (RFC 7519) that a customer signs with one of its signing keys, by ES256 (RFC 7518 §3.4).
 *
 * A token is verified once and the result is remembered, because a player sends the same token with every request. Whether its key is
 * enabled and its time has not passed is checked each time.
 */
import { hash } from 'node:crypto';
import type { CryptoKey, JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackId, SigningKeyId } from '#domain/ids.ts';
import { pemOf, type SigningKey } from '#domain/signing-key.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { atMostEntries } from '#lib/lru-limit.ts';
import { MAX_TOKEN_LENGTH } from './credentials.ts';

/** The largest number of remembered tokens. When it is exceeded, the one used longest ago is forgotten. */
const MAX_TOKENS = 20_000;
const MAX_KEYS = 1000;
/** The number of tokens with a wrong signature that one network may send in a minute, because each costs a verification. */
const WRONG_PER_MINUTE = 120;
/** The allowed difference between the clocks of a customer and of this server, in milliseconds. */
const CLOCKS_DIFFER_MS = 5000;

/** Why a token gives no right. */
export type TokenFault =
  | 'malformed'
  | 'unknown_key'
  | 'disabled_key'
  | 'wrong_signature'
  | 'expired'
  | 'early'
  | 'wrong_stream';

/** The result of checking a token. */
export type TokenVerdict =
  | { readonly good: true; readonly keyId: SigningKeyId; readonly expiresAtMs: number }
  | { readonly good: false; readonly fault: TokenFault };

/** The claims of a token with a right signature. Undefined when the signature is wrong or the claims are invalid. */
type Verified = { readonly keyId: SigningKeyId; readonly claims: Claims } | undefined;

interface Claims {
  readonly subject: string | undefined;
  readonly expiresAtMs: number;
  /** The token is not valid before this time. */
  readonly beginsAtMs: number;
}

/** Checks playback tokens. */
export class PlaybackTokens {
  readonly #clock: Clock;
  readonly #throttle: AttemptThrottle;
  readonly #verified = new LRUCache<string, Promise<Verified>>(atMostEntries(MAX_TOKENS));
  readonly #publicKeys = new LRUCache<SigningKeyId, Promise<CryptoKey>>(atMostEntries(MAX_KEYS));

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#throttle = new AttemptThrottle({ perMinute: WRONG_PER_MINUTE, clock });
  }

  /**
   * Checks a token for a stream or a recording.
   * @param playbackIds the playback ids that it may be for
   * @param keys the signing keys of the stream's owner, the only accepted keys
   * @param address the address of the sender; tokens with a wrong signature count against its network
   * @throws {MillraceError} `too_many_attempts` when the network has sent too many wrong tokens and this token is not known
   */
  async judge(
    token: string,
    {
      playbackIds,
      keys,
      address,
    }: { playbackIds: readonly PlaybackId[]; keys: readonly SigningKey[]; address: string },
  ): Promise<TokenVerdict> {
    if (token.length > MAX_TOKEN_LENGTH) return wrong('malformed');
    const name = hash('sha256', token, 'base64');
    const known = this.#verified.get(name);
    const verified = await (known ?? this.#verify(name, token, keys, address));
    if (typeof verified === 'string') return wrong(verified);
    if (verified === undefined) return wrong('wrong_signature');
    const { keyId, claims } = verified;
    const key = keys.find(({ id }) => id === keyId);
    if (key === undefined) return wrong('unknown_key');
    if (key.disabled) return wrong('disabled_key');
    if (!(playbackIds as readonly (string | undefined)[]).includes(claims.subject)) return wrong('wrong_stream');
    const now = this.#clock.now();
    if (now >= claims.expiresAtMs) return wrong('expired');
    if (now + CLOCKS_DIFFER_MS < claims.beginsAtMs) return wrong('early');
    return { good: true, keyId, expiresAtMs: claims.expiresAtMs };
  }

  /** Verifies a token that is not known, unless it names no key of the owner, which needs no computation and is not remembered. */
  #verify(
    name: string,
    token: string,
    keys: readonly SigningKey[],
    address: string,
  ): Promise<Verified> | 'malformed' | 'unknown_key' {
    const named = namedKey(token);
    if (named === undefined) return 'malformed';
    const key = keys.find(({ id, publicKey }) => id === named.id || publicKey === named.publicKey);
    if (key === undefined) return 'unknown_key';
    const retryAfterS = this.#throttle.retryAfterS(address);
    if (retryAfterS > 0) {
      throw new MillraceError(
        'too_many_attempts',
        'Too many wrong playback tokens came from this network; try again later.',
        {
          retryAfterS,
        },
      );
    }
    const verifying = this.#verifyWith(key, token).then((verified) => {
      if (verified === undefined) this.#throttle.failed(address);
      return verified;
    });
    this.#verified.set(name, verifying);
    return verifying;
  }

  async #verifyWith(key: SigningKey, token: string): Promise<Verified> {
    // Loaded with the first token, because it takes 10 MB.
    const { importSPKI, jwtVerify } = await import('jose');
    try {
      const publicKey = this.#publicKeys.get(key.id) ?? importSPKI(pemOf(key.publicKey), 'ES256');
      this.#publicKeys.set(key.id, publicKey);
      // Only the signature and the form are checked here. Times are checked at every use, so all of them pass here.
      const { payload } = await jwtVerify(token, await publicKey, {
        algorithms: ['ES256'],
        requiredClaims: ['exp', 'sub'],
        clockTolerance: Number.MAX_SAFE_INTEGER,
      });
      const claims = claimsOf(payload);
      return claims && { keyId: key.id, claims };
    } catch {
      return undefined;
    }
  }
}

const wrong = (fault: TokenFault): TokenVerdict => ({ good: false, fault });

/** The key that a token names, by `kid` in its header or by `pub` in its claims. Undefined for a text that is not a token. */
function namedKey(token: string): { readonly id: unknown; readonly publicKey: unknown } | undefined {
  const [header = '', claims = ''] = token.split('.');
  try {
    return { id: objectOf(header).kid, publicKey: objectOf(claims).pub };
  } catch {
    return undefined;
  }
}

/** Decodes a part of a token, which is not verified yet. @throws when it is not a JSON object in base64url */
function objectOf(part: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
  if (typeof value !== 'object' || value === null) throw new TypeError('not an object');
  return value as Record<string, unknown>;
}

/** Undefined when the token is meant for something other than watching. */
function claimsOf({ sub, exp, nbf, iat, action }: JWTPayload): Claims | undefined {
  if (exp === undefined || (action !== undefined && action !== 'pull')) return undefined;
  return { subject: sub, expiresAtMs: exp * 1000, beginsAtMs: Math.max(nbf ?? 0, iat ?? 0) * 1000 };
}

/**
 * Playback tokens: JSON Web Tokens (RFC 7519) that a customer signs with one of its signing keys, by ES256 (RFC 7518 §3.4).
 *
 * A token is verified once; what came of it is remembered, because a player shows the same token at every request. Whether its key still
 * counts and whether its time has passed is asked each time.
 */
import { hash } from 'node:crypto';
import type { CryptoKey, JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackId, SigningKeyId } from '#domain/ids.ts';
import { pemOf, type SigningKey } from '#domain/signing-key.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { MAX_TOKEN_LENGTH } from './credentials.ts';

/** Tokens remembered; beyond this the one that was shown longest ago is verified again when it comes back. */
const MAX_TOKENS = 20_000;
const MAX_KEYS = 1000;
/** How many tokens with a wrong signature one network may show in a minute: each costs a verification. */
const WRONG_PER_MINUTE = 120;
/** By how much the clocks of a customer and of this server may differ, in milliseconds. */
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

/** What a token gives. */
export type TokenVerdict =
  | { readonly good: true; readonly keyId: SigningKeyId; readonly expiresAtMs: number }
  | { readonly good: false; readonly fault: TokenFault };

/** Claims whose signature is right. Undefined: the signature is wrong, or the claims make no sense. */
type Verified = { readonly keyId: SigningKeyId; readonly claims: Claims } | undefined;

interface Claims {
  readonly subject: string | undefined;
  readonly expiresAtMs: number;
  /** Before this the token does not count. */
  readonly beginsAtMs: number;
}

/** Judges tokens. */
export class PlaybackTokens {
  readonly #clock: Clock;
  readonly #throttle: AttemptThrottle;
  readonly #verified = new LRUCache<string, Promise<Verified>>({ max: MAX_TOKENS });
  readonly #publicKeys = new LRUCache<SigningKeyId, Promise<CryptoKey>>({ max: MAX_KEYS });

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#throttle = new AttemptThrottle({ perMinute: WRONG_PER_MINUTE, clock });
  }

  /**
   * Judges a token that is shown for a stream.
   * @param keys the signing keys of the stream's owner; no other key counts
   * @param address of who shows it: tokens with a wrong signature count against its network
   * @throws {MillraceError} `too_many_attempts` when the network has shown too many of those, and this token is not known
   */
  async judge(
    token: string,
    { playbackId, keys, address }: { playbackId: PlaybackId; keys: readonly SigningKey[]; address: string },
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
    if (claims.subject !== playbackId) return wrong('wrong_stream');
    const now = this.#clock.now();
    if (now >= claims.expiresAtMs) return wrong('expired');
    if (now + CLOCKS_DIFFER_MS < claims.beginsAtMs) return wrong('early');
    return { good: true, keyId, expiresAtMs: claims.expiresAtMs };
  }

  /** Verifies a token that is not known, unless it names no key of the owner: then nothing needs to be computed or remembered. */
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
        'Too many wrong playback tokens came from this network; try later.',
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
    // Loaded when the first token comes, because it takes 10 MB.
    const { importSPKI, jwtVerify } = await import('jose');
    try {
      const publicKey = this.#publicKeys.get(key.id) ?? importSPKI(pemOf(key.publicKey), 'ES256');
      this.#publicKeys.set(key.id, publicKey);
      // The times are judged at every use, so here only the signature and the form count: a token that is good for 1970 to 9999 passes.
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

/** The key that a token says it is signed with: by `kid` in its header or by `pub` in its claims. Undefined for what is no token. */
function namedKey(token: string): { readonly id: unknown; readonly publicKey: unknown } | undefined {
  const [header = '', claims = ''] = token.split('.');
  try {
    return { id: objectOf(header).kid, publicKey: objectOf(claims).pub };
  } catch {
    return undefined;
  }
}

/** A part of a token, which nothing vouches for yet. @throws when it is no JSON object in base64url */
function objectOf(part: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
  if (typeof value !== 'object' || value === null) throw new TypeError('not an object');
  return value as Record<string, unknown>;
}

/** Undefined when the token is meant for something else than watching. */
function claimsOf({ sub, exp, nbf, iat, action }: JWTPayload): Claims | undefined {
  if (exp === undefined || (action !== undefined && action !== 'pull')) return undefined;
  return { subject: sub, expiresAtMs: exp * 1000, beginsAtMs: Math.max(nbf ?? 0, iat ?? 0) * 1000 };
}

/**
 * Users and their API keys.
 */

import type { Milliseconds } from '#lib/units.ts';
import type { ApiKeyId, UserId } from './ids.ts';
import type { Quotas } from './quotas.ts';

/** Owns streams and API keys. */
export interface User {
  readonly id: UserId;
  /** Unique. */
  readonly name: string;
  readonly createdAt: Milliseconds;
  /** Whether it may manage users, read the audit log and do what any owner may. */
  readonly isAdmin: boolean;
  /** Whether its keys, and the publishers to its streams, are refused. */
  readonly suspended: boolean;
  /** The quotas that an admin gave it instead of the defaults; see {@link quotasOf}. */
  readonly quotas: Partial<Quotas>;
}

/** What a key may be used for: a request is allowed when any rule matches it. */
export interface AccessRule {
  /** Route patterns below the API prefix: `stream`, `stream/:id`, `stream/*`, `*`. */
  readonly resources: readonly string[];
  /** Lower case; `*` or nothing = all. */
  readonly methods?: readonly string[];
}

/** An API key as stored. Its secret is kept only as a SHA-256 hash. */
export interface ApiKey {
  readonly id: ApiKeyId;
  readonly userId: UserId;
  /** What `createdByTokenName` shows on the streams it creates; unique among the user's unrevoked keys. */
  readonly name: string;
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretHash: string;
  readonly createdAt: Milliseconds;
  readonly revokedAt: Milliseconds | undefined;
  /** undefined = everything its user may do; an empty list = nothing. */
  readonly access: { readonly rules: readonly AccessRule[] } | undefined;
  /** When the key was last used, accurate to about one minute. 0 means never. */
  readonly lastSeen: Milliseconds;
}

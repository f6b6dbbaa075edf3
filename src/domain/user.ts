/**
 * Users and their API keys.
 */

import type { Milliseconds } from '#lib/units.ts';
import type { ApiKeyId, UserId } from './ids.ts';

/** Owns streams and API keys. */
export interface User {
  readonly id: UserId;
  /** Unique. */
  readonly name: string;
  readonly createdAt: Milliseconds;
}

/** An API key as the store knows it: the secret itself is kept only as its SHA-256. */
export interface ApiKey {
  readonly id: ApiKeyId;
  readonly userId: UserId;
  /** What `createdByTokenName` shows on the streams it creates; unique among the user's unrevoked keys. */
  readonly name: string;
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretHash: string;
  readonly createdAt: Milliseconds;
  readonly revokedAt: Milliseconds | undefined;
}

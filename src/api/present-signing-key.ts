/**
 * Signing keys as clients see them.
 */
import type { Static } from 'typebox';
import type { SigningKey } from '#domain/signing-key.ts';
import type { SigningKeySchema } from './schemas/signing-key.ts';

/** A signing key, to its user and admins. */
export function presentSigningKey(key: SigningKey): Static<typeof SigningKeySchema> {
  const { id, name, userId, createdAt, publicKey, disabled } = key;
  return { id, name, userId, createdAt, publicKey, disabled };
}

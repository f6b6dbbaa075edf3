/**
 * Presents signing keys to clients.
 */
import type { Static } from 'typebox';
import type { SigningKey } from '#domain/signing-key.ts';
import type { SigningKeySchema } from './schemas/signing-key.ts';

/** Presents a signing key to its user and to admins. */
export function presentSigningKey(key: SigningKey): Static<typeof SigningKeySchema> {
  const { id, name, userId, createdAt, publicKey, disabled } = key;
  return { id, name, userId, createdAt, publicKey, disabled };
}

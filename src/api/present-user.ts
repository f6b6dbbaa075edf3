/**
 * Users as clients see them.
 */
import type { Static } from 'typebox';
import type { User } from '#domain/user.ts';
import type { UserSchema } from './schemas/user.ts';

/** A user, to itself and admins. */
export function presentUser({ id, name, isAdmin, suspended, createdAt }: User): Static<typeof UserSchema> {
  return { id, kind: 'user', name, admin: isAdmin, suspended, createdAt };
}

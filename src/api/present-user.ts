/**
 * Users as clients see them.
 */
import type { Static } from 'typebox';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { User } from '#domain/user.ts';
import type { UserSchema } from './schemas/user.ts';

/** A user, to itself and admins, with the quotas that hold for it. */
export function presentUser(user: User, defaults: Quotas): Static<typeof UserSchema> {
  const { id, name, isAdmin, suspended, createdAt } = user;
  return { id, kind: 'user', name, admin: isAdmin, suspended, createdAt, quotas: quotasOf(user, defaults) };
}

/**
 * Presents API keys to clients.
 */
import type { Static } from 'typebox';
import type { ApiKey } from '#domain/user.ts';
import type { ApiTokenSchema } from './schemas/api-token.ts';

/** Presents a key to its user and to admins. Only the hash of its secret is known, and that is not shown. */
export function presentApiToken({ id, name, userId, createdAt, lastSeen, access }: ApiKey) {
  return {
    id,
    kind: 'api-token' as const,
    name,
    userId,
    createdAt,
    lastSeen,
    // The rules were checked against the schema when they were stored.
    ...(access && { access: access as NonNullable<Static<typeof ApiTokenSchema>['access']> }),
  };
}

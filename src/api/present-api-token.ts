/**
 * API keys as clients see them.
 */
import type { Static } from 'typebox';
import type { ApiKey } from '#domain/user.ts';
import type { ApiTokenSchema } from './schemas/api-token.ts';

/** A key, to its user and admins. Of its secret there is nothing to show but the hash, which is not. */
export function presentApiToken({ id, name, userId, createdAt, lastSeen, access }: ApiKey) {
  return {
    id,
    kind: 'api-token' as const,
    name,
    userId,
    createdAt,
    lastSeen,
    // Rules were checked against the schema when they were stored.
    ...(access && { access: access as NonNullable<Static<typeof ApiTokenSchema>['access']> }),
  };
}

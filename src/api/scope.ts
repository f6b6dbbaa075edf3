/**
 * Whose streams and sessions a request is about.
 */
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type UserId } from '#domain/ids.ts';
import type { Scope } from '#store/store.ts';
import { type RawQuery, readFlag, readText, refused } from './query.ts';

/** Whether what belongs to that user is in the scope. */
export const isInScope = (scope: Scope, userId: UserId): boolean => scope === 'everyone' || scope === userId;

/**
 * The caller's own; another user's, or everybody's, when an admin says so in the query (`userId`, `all`). A stream is seen by its
 * user's keys only: that an admin may reach further must not make other people's streams appear among the admin's, or change one
 * by a mistaken id.
 * @throws {MillraceError} `admin_only` when somebody else asks for that: fewer rows than asked for would mislead
 */
export function readScope(
  query: RawQuery,
  { userId: own, isAdmin }: { readonly userId: UserId; readonly isAdmin: boolean },
): Scope {
  const userId = readText(query, 'userId');
  if (userId !== undefined && !isUuid(userId)) throw refused('userId', 'must be the id of a user');
  const scope = (userId as UserId | undefined) ?? (readFlag(query, 'all') ? 'everyone' : own);
  if (scope === own || isAdmin) return scope;
  throw new MillraceError(
    'admin_only',
    "Only an admin may ask for what is not the caller's own; leave out the query parameters all and userId.",
  );
}

/**
 * For operations that are always about the caller's own: what an admin meant for another user must not happen to the admin.
 * @param instead completes the sentence with the way out
 * @throws {MillraceError} `invalid_request`
 */
export function refuseOtherScope(
  { scope, userId }: { readonly scope: Scope; readonly userId: UserId },
  instead: string,
): void {
  if (scope === userId) return;
  throw new MillraceError('invalid_request', `Leave out the query parameters all and userId here: ${instead}.`);
}

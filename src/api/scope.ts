/**
 * Determines whose streams and sessions a request is about.
 */
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type UserId } from '#domain/ids.ts';
import type { Scope } from '#store/page.ts';
import { type RawQuery, readFlag, readText, refused } from './query.ts';

/**
 * The scope of a request: the caller's own objects or, if an admin sends `userId` or `all`, those of another user or of everybody. Admins
 * must ask for it, so that streams of other people do not appear among their own, and a mistaken id cannot change one.
 * @throws {MillraceError} `admin_only` when somebody else sends these parameters, because an answer with fewer rows than requested would
 *   mislead
 */
export function readScope(
  query: RawQuery,
  { userId: own, isAdmin }: { readonly userId: UserId; readonly isAdmin: boolean },
): Scope {
  const userId = readText(query, 'userId');
  if (userId !== undefined && !isUuid(userId)) throw refused('userId', 'must be the id of a user');
  const scope = (userId as UserId | undefined) ?? (readFlag(query, 'all') ? 'everyone' : own);
  if (scope === own || isAdmin) return scope;
  throw new MillraceError('admin_only', 'Only an admin may use the query parameters all and userId; leave them out.');
}

/**
 * Refuses the parameters of {@link readScope} for operations that always concern the caller's own objects. Otherwise a change that an admin
 * meant for another user would be made to the admin's.
 * @param instead completes the sentence with what to do instead
 * @throws {MillraceError} `invalid_request`
 */
export function refuseOtherScope(
  { scope, userId }: { readonly scope: Scope; readonly userId: UserId },
  instead: string,
): void {
  if (scope === userId) return;
  throw new MillraceError('invalid_request', `Leave out the query parameters all and userId here: ${instead}.`);
}

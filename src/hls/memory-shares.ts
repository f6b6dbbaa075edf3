/**
 * Who pays when media memory is short. Pure: no I/O, no clock.
 */

/** What one user takes of the media memory. */
export interface UserMemory {
  readonly usedBytes: number;
  /** The most it may take; infinite when nobody limits it. */
  readonly quotaBytes: number;
}

/**
 * How much memory is one user's own: an equal part of all of it, and no more than its quota. The shares of all users together never exceed
 * the memory, so whenever more is asked for than there is, at least one user is above its share.
 * @param users how many hold memory; at least 1
 */
export function shareOf(quotaBytes: number, { limitBytes, users }: { limitBytes: number; users: number }): number {
  return Math.min(limitBytes / users, quotaBytes);
}

/** The user furthest above its share; undefined when all are within theirs. */
export function furthestAboveShare<User extends UserMemory>(
  users: readonly User[],
  limitBytes: number,
): User | undefined {
  let furthest: User | undefined;
  let mostBytes = 0;
  for (const user of users) {
    const aboveBytes = user.usedBytes - shareOf(user.quotaBytes, { limitBytes, users: users.length });
    if (aboveBytes <= mostBytes) continue;
    furthest = user;
    mostBytes = aboveBytes;
  }
  return furthest;
}

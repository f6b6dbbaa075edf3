/**
 * Decides which user must free media memory when it is short. Pure: no I/O, no clock.
 */

/** The media memory that one user holds and may hold. */
export interface UserMemory {
  readonly usedBytes: number;
  /** The most that the user may hold. Infinite without a limit. */
  readonly quotaBytes: number;
}

/**
 * The share of one user: an equal part of all memory, but no more than its quota. The shares of all users together never exceed the memory.
 * Therefore, when more is needed than there is, at least one user is above its share.
 * @param users the number of users that hold memory, at least 1
 */
export function shareOf(quotaBytes: number, { limitBytes, users }: { limitBytes: number; users: number }): number {
  return Math.min(limitBytes / users, quotaBytes);
}

/** The user furthest above its share. Undefined when every user is within its share. */
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

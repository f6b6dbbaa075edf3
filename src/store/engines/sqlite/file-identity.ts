/**
 * Distinguishes a file at a path from another file that took its place.
 */
import { statSync } from 'node:fs';

/** A text that stays the same while the same file is at the path, also if it was moved away and back. Undefined when there is no file. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

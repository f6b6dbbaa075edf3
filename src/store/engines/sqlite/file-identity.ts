/**
 * Tells one file at a path from another that took its place.
 */
import { statSync } from 'node:fs';

/** The same for as long as the same file lies there, also when it was away meanwhile; undefined when none can be seen. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

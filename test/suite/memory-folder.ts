/**
 * A folder in memory for the files that tests write. There, writing waits for no disk, and no journal is kept.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/** The file system that Linux keeps in memory. By default it may fill half of the memory. */
const MEMORY = '/dev/shm';
/** The free space that it must have. The tests use up to 0.6 GiB, mostly for databases of PostgreSQL. The rest is for other programs. */
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * Makes the folder, which is removed when this process ends.
 * @returns its path; undefined where there is no such file system, or too little space in it
 */
export function makeMemoryFolder(): string | undefined {
  if (freeBytes() < NEEDED_BYTES) return undefined;
  const folder = mkdtempSync(join(MEMORY, 'millrace-tests-'));
  // PostgreSQL runs as another user, which must reach the folders in this one, but need not list them.
  chmodSync(folder, 0o711);
  // Processes of tests may still write and remove files while they end, so removing the folder is tried again.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  return folder;
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize;
  } catch {
    return 0; // there is no such file system
  }
}

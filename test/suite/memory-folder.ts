/**
 * A folder in memory for the files that tests write. There no file waits for the disk, and the system keeps no journal of them.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/** A file system in memory, as Linux has it. By default it may fill half of the memory. */
const MEMORY = '/dev/shm';
/** The space that it must have. Tests of PostgreSQL beside others need 0.6 GiB at a time, most of it for databases. */
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * Makes the folder, which is removed when this process ends.
 * @returns its path; undefined where there is no such file system, or too little space in it
 */
export function makeMemoryFolder(): string | undefined {
  if (freeBytes() < NEEDED_BYTES) return undefined;
  const folder = mkdtempSync(join(MEMORY, 'millrace-tests-'));
  // PostgreSQL runs as another user, and only passes through.
  chmodSync(folder, 0o711);
  // Processes of tests that are ending may still write and remove files.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  return folder;
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize;
  } catch {
    return 0; // there is none
  }
}

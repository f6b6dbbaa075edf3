/**
 * The database file in the data folder.
 */
import { closeSync, existsSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { folderError, isErrno, makeFolder } from '#store/data-folder.ts';

/** The absolute path of the database. */
export const databasePath = (dataDir: string): string => resolve(dataDir, 'millrace.db');

/**
 * Creates the folder and an empty database file, readable only by its owner, because it holds stream keys.
 * @returns the database's path
 * @throws {StoreOpenError}
 */
export function prepareFolder(dataDir: string): string {
  makeFolder(dataDir);
  const path = databasePath(dataDir);
  try {
    // An existing file is never opened, because closing any descriptor of it would drop all locks of this process on it (POSIX fcntl).
    if (!existsSync(path)) closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw folderError(error, dataDir, 'read_only');
  }
  return path;
}

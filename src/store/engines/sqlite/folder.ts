/**
 * The data folder as SQLite uses it: the database is a file in it.
 */
import { closeSync, existsSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { folderError, isErrno, makeFolder } from '#store/data-folder.ts';

/** Where the database is, as an absolute path. */
export const databasePath = (dataDir: string): string => resolve(dataDir, 'millrace.db');

/**
 * Makes the folder and an empty database file readable by its owner alone: it holds stream keys.
 * @returns the database's path
 * @throws {StoreOpenError}
 */
export function prepareFolder(dataDir: string): string {
  makeFolder(dataDir);
  const path = databasePath(dataDir);
  try {
    // Never an existing one: closing any of its descriptors drops all locks this process has on it (POSIX fcntl).
    if (!existsSync(path)) closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw folderError(error, dataDir, 'read_only');
  }
  return path;
}

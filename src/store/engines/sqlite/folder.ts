/**
 * The database file in the data folder.
 */
import { resolve } from 'node:path';
import { createFile, makeFolder } from '#store/data-folder.ts';

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
  createFile(path);
  return path;
}

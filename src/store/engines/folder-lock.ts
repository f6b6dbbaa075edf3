/**
 * Locks the data folder, so that one serving process at a time uses it, whatever its database is.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFile } from '#store/data-folder.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { RESULT, resultCode } from './sqlite/failure.ts';
import { proveWritable, sqliteOpenError } from './sqlite/open-failure.ts';

/** Milliseconds to wait for a command that holds the folder briefly. */
const LOCK_TIMEOUT_MS = 250;

/**
 * Locks the folder until disposed or until the process ends in any way. The lock is a file lock of the operating system on an empty SQLite
 * database in the folder.
 * @param dataDir an existing folder
 * @throws {StoreOpenError} `in_use` when another process holds it
 */
export function holdFolder(dataDir: string): Disposable {
  const path = join(dataDir, 'millrace.lock');
  createFile(path);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
    lock.exec('BEGIN EXCLUSIVE');
    proveWritable(lock);
  } catch (error) {
    lock?.close();
    if (resultCode(error) === RESULT.busy) throw new StoreOpenError('in_use', dataDir, '', { cause: error });
    throw sqliteOpenError(error, path);
  }
  const held = lock;
  return { [Symbol.dispose]: () => held.close() };
}

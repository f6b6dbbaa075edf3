/**
 * The data folder of SQLite: made when missing, held by one serving process at a time.
 */
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreOpenError } from '#store/open-error.ts';
import { RESULT, resultCode } from './failure.ts';

/** How long a command's short hold is waited for, in milliseconds. */
const LOCK_TIMEOUT_MS = 250;

/**
 * Makes the folder and an empty database file readable by its owner alone: it holds stream keys.
 * @returns the database's path
 * @throws {StoreOpenError}
 */
export function prepareFolder(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw folderError(error, dataDir, 'no_folder');
  }
  const path = join(dataDir, 'millrace.db');
  try {
    // Never an existing one: closing any of its descriptors drops all locks this process has on it (POSIX fcntl).
    if (!existsSync(path)) closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw folderError(error, dataDir, 'read_only');
  }
  return path;
}

/**
 * Holds the folder until disposed or until the process ends, however it ends: the lock is the system's, on an empty
 * database beside the real one.
 * @throws {StoreOpenError} `in_use` when another process holds it
 */
export function holdFolder(dataDir: string): Disposable {
  const path = join(dataDir, 'millrace.lock');
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

/**
 * Fails when the database was opened but can only be read, which SQLite does not tell otherwise: even `BEGIN EXCLUSIVE` then
 * quietly becomes a read. Starts a write that changes nothing, because these databases have no auto-vacuum.
 * @throws an error of SQLite
 */
export function proveWritable(db: DatabaseSync): void {
  db.exec('PRAGMA incremental_vacuum(1)');
}

/** What an error of SQLite means to the one who starts Millrace; other errors stay what they are. */
export function sqliteOpenError(error: unknown, path: string): unknown {
  const code = resultCode(error);
  if (code === undefined || !(error instanceof Error)) return error;
  const [permission, readOnly, cannotOpen] = [RESULT.permission, RESULT.readOnly, RESULT.cannotOpen];
  const options = { cause: error };
  if (code === RESULT.full) return new StoreOpenError('disk_full', path, '', options);
  if (code === permission || code === readOnly || code === cannotOpen)
    return new StoreOpenError('read_only', path, error.message, options);
  if (code === RESULT.corrupt || code === RESULT.notADatabase)
    return new StoreOpenError('not_a_database', path, error.message, options);
  return new StoreOpenError('unusable', path, error.message, options);
}

function folderError(error: unknown, dataDir: string, code: 'no_folder' | 'read_only'): StoreOpenError {
  const detail = error instanceof Error ? error.message.split(',')[0] : String(error);
  return new StoreOpenError(isErrno(error, 'ENOSPC') ? 'disk_full' : code, dataDir, detail, { cause: error });
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

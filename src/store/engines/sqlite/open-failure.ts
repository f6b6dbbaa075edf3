/**
 * Translates SQLite errors of opening a file for the operator.
 */
import type { DatabaseSync } from 'node:sqlite';
import { StoreOpenError } from '#store/open-error.ts';
import { RESULT, resultCode } from './failure.ts';

/**
 * Fails when the database was opened but can only be read. SQLite does not report this otherwise: even `BEGIN EXCLUSIVE` then silently
 * becomes a read. It starts a write that changes nothing, because these databases have no auto-vacuum.
 * @throws an error of SQLite
 */
export function proveWritable(db: DatabaseSync): void {
  db.exec('PRAGMA incremental_vacuum(1)');
}

/** Translates a SQLite error for the operator. Other errors are returned unchanged. */
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

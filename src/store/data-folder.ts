/**
 * The data folder: created when it is missing, and readable by its owner only.
 */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StoreOpenError } from './open-error.ts';

/** The names of the files that Millrace keeps in its data folder. Every file with a secret must be one of them. */
const OUR_FILES =
  /^(?:millrace\.(?:db|lock)|node-id|last-time|initial-(?:api-key|sign-in-link)|signing-key-|recordings(?:-folder)?$)/;
/** The permission bits of the group and of all others. */
const OF_OTHERS = 0o077;

/**
 * Creates the folder with permissions for its owner only. When it exists already, the group and all others lose their permissions on the
 * files that Millrace keeps in it, and on the folder itself if it holds nothing else. A folder with other files, such as a home directory
 * or `/tmp`, keeps its permissions.
 * @throws {StoreOpenError}
 */
export function makeFolder(dataDir: string): void {
  try {
    makeAll(dataDir);
  } catch (error) {
    throw folderError(error, dataDir, isErrno(error, 'EEXIST') ? 'not_a_folder' : 'no_folder');
  }
  const names = namesIn(dataDir);
  const ours = names.filter((name) => OUR_FILES.test(name));
  for (const name of ours) closeToOthers(join(dataDir, name));
  if (ours.length === names.length) closeToOthers(dataDir);
}

/**
 * Creates a folder and its parents. Node's `recursive` option never returns where the system denies that an existing folder exists, as in
 * `/proc`.
 */
function makeAll(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (isErrno(error, 'EEXIST') && statSync(folder).isDirectory()) return;
    const parent = dirname(resolve(folder));
    if (!isErrno(error, 'ENOENT') || existsSync(parent)) throw error;
    makeAll(parent);
    mkdirSync(folder, { mode: 0o700 });
  }
}

/** The names in a folder. Empty when the folder cannot be listed, because opening the store then fails with the reason. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Removes the permissions of the group and of all others from a file. Files of another user, links and missing files are left as they are.
 */
function closeToOthers(path: string): void {
  try {
    const stats = lstatSync(path);
    if (!stats.isSymbolicLink() && (stats.mode & OF_OTHERS) !== 0) chmodSync(path, stats.mode & ~OF_OTHERS & 0o7777);
  } catch {}
}

/**
 * Creates an empty file, readable only by its owner, unless it exists. It is for databases, which SQLite itself would create readable by
 * everybody.
 * @throws {StoreOpenError} when the file cannot be created
 */
export function createFile(path: string): void {
  try {
    // An existing file is never opened, because closing any descriptor of it would drop all locks of this process on it (POSIX fcntl).
    if (!existsSync(path)) closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw folderError(error, dirname(path), 'read_only');
  }
}

/** Translates an error of the file system for the operator. */
export function folderError(
  error: unknown,
  path: string,
  code: 'no_folder' | 'not_a_folder' | 'read_only',
): StoreOpenError {
  return new StoreOpenError(isErrno(error, 'ENOSPC') ? 'disk_full' : code, path, systemReason(error), { cause: error });
}

/** The reason in the message of a system error. The call and the path follow it after a comma, and are left out. */
export function systemReason(error: unknown): string {
  return error instanceof Error ? error.message.split(',', 1)[0]! : String(error);
}

/** Whether an error is a system error with this code. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/**
 * Makes copies of the database beside a running server, and restores them while no server runs.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import type { Milliseconds } from '#lib/units.ts';
import { makeFolder, systemReason } from '#store/data-folder.ts';
import { holdFolder } from '#store/engines/folder-lock.ts';
import { SKIPPED_EVENT_NUMBERS } from '#store/event-numbers.ts';
import { MIGRATIONS, migrationsDone } from '#store/migrations.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { kyselyOn } from './dialect.ts';
import { databasePath } from './folder.ts';

/** All pages are copied in one step. A write between two steps would restart the copy, and readers of a write-ahead log block nobody. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Writes a durable copy of the database in its current state, readable only by its owner. An existing file with this name is replaced. When
 * the copy fails, it leaves nothing.
 * @throws {StoreOpenError}
 */
export async function backupSqlite(dataDir: string, file: string): Promise<{ readonly sizeBytes: number }> {
  const path = databasePath(dataDir);
  if (!existsSync(path)) throw new StoreOpenError('no_store', path);
  const part = `${file}.part`;
  try {
    await copy(path, part);
    rename(part, file);
    return { sizeBytes: statSync(file).size };
  } catch (error) {
    rmSync(part, { force: true });
    throw notWritten(error, file);
  }
}

/**
 * Replaces the database by a copy, and keeps the old one under another name. If it fails at any point, one of the two is in place. Creates
 * the data folder and the database where there are none, but nothing for a file that is not a backup.
 * @returns the path of the database, and that of the replaced one if there was one
 * @throws {StoreOpenError} `in_use` beside a running server; `not_readable`, `not_a_backup`, `newer_schema` for another file
 */
export async function restoreSqlite(
  dataDir: string,
  file: string,
  now: Milliseconds,
): Promise<{ readonly path: string; readonly replaced: string | undefined }> {
  await checkBackup(file);
  makeFolder(dataDir);
  using _hold = holdFolder(dataDir);
  const path = databasePath(dataDir);
  const fresh = `${path}.restored`;
  try {
    await copy(file, fresh);
    skipEventNumbers(fresh);
    const replaced = existsSync(path) ? putAside(path, now) : undefined;
    rename(fresh, path);
    return { path, replaced };
  } catch (error) {
    rmSync(fresh, { force: true });
    throw notWritten(error, path);
  }
}

/** Skips the numbers that events may have got since the backup was made. The write is durable when it returns. */
function skipEventNumbers(path: string): void {
  using db = new DatabaseSync(path);
  db.exec('PRAGMA synchronous = FULL');
  const isThere = db.prepare("select 1 from sqlite_schema where name = 'event_sequence'").get() !== undefined;
  if (isThere) db.prepare('update event_sequence set last = last + ?').run(SKIPPED_EVENT_NUMBERS);
}

/** Copies the database into a new file and flushes it to the disk. */
async function copy(from: string, to: string): Promise<void> {
  rmSync(to, { force: true });
  closeSync(openSync(to, 'wx', 0o600));
  {
    using source = new DatabaseSync(from);
    await backup(source, to, { rate: ALL_PAGES });
  }
  {
    // The copy has no separate log file, which could be left out when it is moved.
    using made = new DatabaseSync(to);
    made.exec('PRAGMA journal_mode = DELETE');
  }
  sync(to);
}

function rename(from: string, to: string): void {
  renameSync(from, to);
  sync(dirname(to));
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/**
 * Checks that a file is an undamaged database of this or an older version.
 * @throws {StoreOpenError} `not_readable`, `not_a_backup`, `newer_schema`
 */
async function checkBackup(file: string): Promise<void> {
  mustBeReadable(file);
  try {
    using db = new DatabaseSync(file, { readOnly: true });
    const found = db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check;
    if (found !== 'ok') throw new StoreOpenError('not_a_backup', file, 'it is damaged');
    const done = await migrationsDone(kyselyOn(db));
    if (done.length === 0) throw new StoreOpenError('not_a_backup', file, 'it has none of its tables');
    const unknown = done.find((name) => !(name in MIGRATIONS));
    if (unknown !== undefined) throw new StoreOpenError('newer_schema', file, unknown);
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError('not_a_backup', file, systemReason(error), { cause: error });
  }
}

/** @throws {StoreOpenError} `not_readable` for a missing file, or one of another user, of which SQLite says only that it cannot be opened */
function mustBeReadable(file: string): void {
  try {
    closeSync(openSync(file, 'r'));
  } catch (error) {
    throw new StoreOpenError('not_readable', file, systemReason(error), { cause: error });
  }
}

/** Gives the database a second name, so that its own name always has a file. @returns the second name */
function putAside(path: string, now: Milliseconds): string {
  const aside = `${path}.replaced-${new Date(now).toISOString().replaceAll(/[-:]/g, '')}`;
  try {
    // Writes the log into the database and removes it.
    using db = new DatabaseSync(path);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The database is damaged, which may be why it is replaced. Its log is kept beside it.
  }
  linkSync(path, aside);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${aside}-wal`);
  rmSync(`${path}-shm`, { force: true });
  return aside;
}

function notWritten(error: unknown, place: string): unknown {
  if (error instanceof StoreOpenError || !(error instanceof Error)) return error;
  return new StoreOpenError('not_written', place, systemReason(error), { cause: error });
}

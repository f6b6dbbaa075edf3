/**
 * A worker's connection to the database file. It is opened when it is first needed, and again after it failed.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { DatabaseAway } from './failure.ts';
import { identityOf } from './file-identity.ts';
import type { Role } from './protocol.ts';

/** Milliseconds that SQLite waits for another process's write. It is less than the time limits of callers. */
const BUSY_TIMEOUT_MS = 4000;

/**
 * KiB of pages kept in memory. That holds the upper levels of the indexes of a million streams. The memory is allocated only as it is used.
 */
const CACHE_KIB = 16_384;

/**
 * The number of pages in the write-ahead log at which it is copied into the database. It is large, so that pages which change often are
 * copied once.
 */
const CHECKPOINT_PAGES = 4000;

/** The largest size of the log file after a checkpoint, so that a burst of writes does not occupy the disk permanently. */
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;

/** A query that is ready to run. */
export interface Prepared {
  readonly statement: StatementSync;
  /** The names of the columns. Empty for a query that returns no rows. */
  readonly columns: readonly string[];
}

/** The database connection of one thread. */
export class SqliteConnection {
  readonly #path: string;
  readonly #role: Role;
  readonly #clock: Clock;
  readonly #backoff = new Backoff({ firstMs: 50, maxMs: 2000 });
  /** Prepared queries by their text. There are as many as the store has queries, so no limit is needed. */
  readonly #prepared = new Map<string, Prepared>();
  #db: DatabaseSync | undefined;
  #file: string | undefined;
  /** The monotonic time before which opening is not tried again. */
  #retryAt = ms(0);

  constructor(path: string, role: Role, clock: Clock) {
    this.#path = path;
    this.#role = role;
    this.#clock = clock;
  }

  /**
   * Returns the open database, and opens it if necessary. A missing file is never created, because an empty database would look like lost
   * data.
   *
   * Each call checks that the file is still at its path, because SQLite would silently go on writing to a deleted file.
   * @throws {DatabaseAway} or an error of SQLite when it cannot be opened
   */
  database(): DatabaseSync {
    const file = identityOf(this.#path);
    if (file === undefined) throw new DatabaseAway('the database file is gone');
    // Another file has taken its place, so it must be opened again. A file that was moved away and back is the same one.
    if (file !== this.#file) this.close();
    if (this.#db !== undefined) return this.#db;
    if (this.#clock.monotonic() < this.#retryAt)
      throw new DatabaseAway('the last attempt to open the database failed a moment ago');
    try {
      this.#db = this.#open();
    } catch (error) {
      this.#retryAt = ms(this.#clock.monotonic() + this.#backoff.failed());
      throw error;
    }
    this.#file = file;
    return this.#db;
  }

  /** Prepares a query once on this connection. Call {@link SqliteConnection.database} first. */
  prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = this.database().prepare(sql);
      statement.setReturnArrays(true);
      prepared = { statement, columns: statement.columns().map(({ name }) => name) };
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  /** Notes a success, so that the pause after the next failure to open is the shortest one again. */
  succeeded(): void {
    this.#backoff.succeeded();
  }

  /** Closes the database. The next use opens it again. */
  close(): void {
    this.#prepared.clear();
    const db = this.#db;
    this.#db = undefined;
    this.#file = undefined;
    db?.close();
  }

  #open(): DatabaseSync {
    const readOnly = this.#role === 'read';
    const url = pathToFileURL(this.#path);
    url.searchParams.set('mode', readOnly ? 'ro' : 'rw');
    const db = new DatabaseSync(url, { readOnly, timeout: BUSY_TIMEOUT_MS });
    try {
      db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA temp_store = MEMORY`);
      if (!readOnly) {
        db.exec(
          `PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = ${LOG_LIMIT_BYTES}`,
        );
      }
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  }
}

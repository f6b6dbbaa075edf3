/**
 * A worker's connection to the database file: opened when first needed, opened again after it failed.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { DatabaseAway } from './failure.ts';
import { identityOf } from './file-identity.ts';
import type { Role } from './protocol.ts';

/** How long SQLite waits for another process's write, in milliseconds: below the callers' own limits. */
const BUSY_TIMEOUT_MS = 4000;

/** KiB of pages kept in memory: the upper levels of a million streams' indexes; taken only as they are used. */
const CACHE_KIB = 16_384;

/** Pages in the write-ahead log at which it is copied into the database: large, so that pages changed often are copied once. */
const CHECKPOINT_PAGES = 4000;

/** The log file's size after a checkpoint, at most: a burst of writes does not keep the disk. */
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;

/** A query ready to run. */
export interface Prepared {
  readonly statement: StatementSync;
  /** Names of its columns; empty for one that gives no rows. */
  readonly columns: readonly string[];
}

/** One thread's way to the database. */
export class SqliteConnection {
  readonly #path: string;
  readonly #role: Role;
  readonly #clock: Clock;
  readonly #backoff = new Backoff({ firstMs: 50, maxMs: 2000 });
  /** By their text. As many as the store has queries, so it needs no limit. */
  readonly #prepared = new Map<string, Prepared>();
  #db: DatabaseSync | undefined;
  #file: string | undefined;
  /** Monotonic: not tried again before. */
  #retryAt = ms(0);

  constructor(path: string, role: Role, clock: Clock) {
    this.#path = path;
    this.#role = role;
    this.#clock = clock;
  }

  /**
   * The open database, opened now if need be; never made anew, because an empty one would look like lost data.
   *
   * Checks each time that the file still lies at its path: SQLite would go on writing to a deleted one without a word.
   * @throws {DatabaseAway} or an error of SQLite when there is none
   */
  database(): DatabaseSync {
    const file = identityOf(this.#path);
    if (file === undefined) throw new DatabaseAway('the database file is gone');
    // Another file has taken its place. One that is only moved away and back is the same, and so is our view of it.
    if (file !== this.#file) this.close();
    if (this.#db !== undefined) return this.#db;
    if (this.#clock.monotonic() < this.#retryAt)
      throw new DatabaseAway('the database could not be opened a moment ago');
    try {
      this.#db = this.#open();
    } catch (error) {
      this.#retryAt = ms(this.#clock.monotonic() + this.#backoff.failed());
      throw error;
    }
    this.#file = file;
    return this.#db;
  }

  /** A query prepared once on this connection. Call {@link SqliteConnection.database} first. */
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

  /** It worked: the next fault is a new one. */
  succeeded(): void {
    this.#backoff.succeeded();
  }

  /** Leaves the database as it is. It is opened again when next asked for. */
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

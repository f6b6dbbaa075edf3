/**
 * Detects whether any process has written to the database, without a query to SQLite.
 *
 * The header of the write-ahead log's index (`millrace.db-shm`, sqlite.org/walformat.html §2.1) changes with every commit, before the
 * commit is acknowledged. SQLite itself compares it to learn which cached pages are still valid. This class only reads it, without a lock,
 * from memory that the kernel shares with SQLite's mapping. Why that may be done on the event loop is explained in
 * `docs/decisions/0008-reads-remembered-until-the-next-commit.md`.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { DatabaseAway } from './failure.ts';
import { identityOf } from './file-identity.ts';

/** The size of one copy of the header: change counter, length of the log, its salts and checksums. */
const HEADER_BYTES = 48;
/** The offset of the byte that says whether the header is initialized. */
const IS_INITIALIZED = 12;
/** Updating the access time would start a file-system transaction, which may wait for the disk (Linux only). */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOATIME ?? 0);

/** The time between two checks that the file is still the index of the database at the path. */
const LOOK_EVERY_MS = 10;

/** The index of one database, whose file may appear, disappear and be replaced. */
export class WalIndex {
  readonly #path: string;
  #file: number | undefined;
  /** The identity of the database that the index belongs to. */
  #database: string | undefined;
  #isCurrent = false;
  #header = Buffer.alloc(HEADER_BYTES);
  #last = Buffer.alloc(HEADER_BYTES);
  #version = 0;

  /** @param path the path of the database */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * A number that changes whenever anything was committed, or undefined when that is unknown. A commit is noticed at once. A moved or
   * replaced database is noticed within {@link LOOK_EVERY_MS}.
   */
  version(): number | undefined {
    try {
      if (!this.#isCurrent) this.#look();
      if (!this.#readHeader()) return this.#unknown();
    } catch {
      // There is no index, as before the first read, or the disk fails, which the workers report.
      return this.#unknown();
    }
    if (!this.#header.equals(this.#last)) {
      [this.#header, this.#last] = [this.#last, this.#header];
      this.#version += 1;
    }
    return this.#version;
  }

  /** Call it when no connection is open any more. */
  [Symbol.dispose](): void {
    this.#letGo();
  }

  /** Checks that the file is the index of the database at the path. */
  #look(): void {
    const database = identityOf(this.#path);
    if (database === undefined) throw new DatabaseAway('the database file is gone');
    if (this.#file !== undefined && (database !== this.#database || fstatSync(this.#file).nlink === 0)) this.#letGo();
    this.#file ??= openSync(`${this.#path}-shm`, OPEN_FLAGS);
    this.#database = database;
    this.#isCurrent = true;
    setTimeout(() => (this.#isCurrent = false), LOOK_EVERY_MS).unref();
  }

  /** Reads the header. Returns whether there is one. */
  #readHeader(): boolean {
    if (this.#file === undefined) return false;
    return (
      readSync(this.#file, this.#header, 0, HEADER_BYTES, 0) === HEADER_BYTES && this.#header[IS_INITIALIZED] !== 0
    );
  }

  /** Makes the next version a new one, because an initialized header is never all zeros. */
  #unknown(): undefined {
    this.#last.fill(0);
    return undefined;
  }

  #letGo(): void {
    this.#unknown();
    const file = this.#file;
    this.#file = undefined;
    // Closing any descriptor of a file drops all locks of this process on it (POSIX fcntl), including those of SQLite. A deleted file
    // cannot be opened by anybody else, so it is closed. Any other file stays open until the process ends.
    if (file !== undefined && fstatSync(file).nlink === 0) closeSync(file);
  }
}

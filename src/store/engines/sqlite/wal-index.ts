/**
 * Whether anybody has written to the database, this process or another, seen without asking SQLite.
 *
 * The header of the write-ahead log's index (`millrace.db-shm`, sqlite.org/walformat.html §2.1) changes with every commit,
 * before the one who commits is told. SQLite compares it itself to learn what its connections may still trust. Here it is
 * only read, without a lock, from memory that the kernel shares with SQLite's mapping: why that may be done on the event loop is in
 * `docs/decisions/0008-reads-remembered-until-the-next-commit.md`.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { DatabaseAway } from './failure.ts';
import { identityOf } from './file-identity.ts';

/** One copy of the header: change counter, length of the log, its salts and checksums. */
const HEADER_BYTES = 48;
/** Where it says that it has been filled in. */
const IS_INITIALIZED = 12;
/** Noting the time of access would start a transaction of the file system, which may wait for the disk (Linux only). */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOATIME ?? 0);

/** The index of one database, whose file may come, go and be replaced. */
export class WalIndex {
  readonly #path: string;
  #file: number | undefined;
  /** Which database it is the index of. */
  #database: string | undefined;
  #isCurrent = false;
  #header = Buffer.alloc(HEADER_BYTES);
  #last = Buffer.alloc(HEADER_BYTES);
  #version = 0;

  /** @param path of the database */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * A number that differs from the last one when anything was committed in between; undefined when that cannot be told.
   * That the database was moved or replaced is noticed in the next turn of the event loop, a commit at once.
   */
  version(): number | undefined {
    try {
      if (!this.#isCurrent) this.#look();
      if (!this.#readHeader()) return this.#unknown();
    } catch {
      // No index, as before the first read; or a disk that fails, which is the workers' to tell.
      return this.#unknown();
    }
    if (!this.#header.equals(this.#last)) {
      [this.#header, this.#last] = [this.#last, this.#header];
      this.#version += 1;
    }
    return this.#version;
  }

  /** Call when no connection is open any more. */
  [Symbol.dispose](): void {
    this.#letGo();
  }

  /** Makes sure that the file is the index of the database at the path, once a turn. */
  #look(): void {
    const database = identityOf(this.#path);
    if (database === undefined) throw new DatabaseAway('the database file is gone');
    if (this.#file !== undefined && (database !== this.#database || fstatSync(this.#file).nlink === 0)) this.#letGo();
    this.#file ??= openSync(`${this.#path}-shm`, OPEN_FLAGS);
    this.#database = database;
    this.#isCurrent = true;
    setImmediate(() => (this.#isCurrent = false));
  }

  /** Whether there is one to compare. */
  #readHeader(): boolean {
    if (this.#file === undefined) return false;
    return (
      readSync(this.#file, this.#header, 0, HEADER_BYTES, 0) === HEADER_BYTES && this.#header[IS_INITIALIZED] !== 0
    );
  }

  /** Whatever is read next counts as new: a header that was filled in is never all zeros. */
  #unknown(): undefined {
    this.#last.fill(0);
    return undefined;
  }

  #letGo(): void {
    this.#unknown();
    const file = this.#file;
    this.#file = undefined;
    // Closing any descriptor of a file drops all locks this process has on it (POSIX fcntl), those of SQLite too. One that
    // was deleted nobody else can open; any other stays open until the process ends.
    if (file !== undefined && fstatSync(file).nlink === 0) closeSync(file);
  }
}

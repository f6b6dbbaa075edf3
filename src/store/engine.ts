/**
 * What a database must do to carry the store: run compiled queries. Each engine is a file in `engines/`, listed in `engines.ts`.
 */
import type { Kysely, RawBuilder, SqlBool } from 'kysely';
import type { Secret } from '#domain/secret.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Database } from './database.ts';

/** What a parameter or a column may hold. Times and sizes are whole numbers, flags 0 or 1, everything else text. */
export type SqlValue = string | number | null;

/** A compiled query with its parameters; `Row` is what one row of its answer looks like. */
export interface Query<Row = unknown> {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  /** In a write: how many rows it must change; when it changes another number, the whole write is undone. */
  readonly mustChange?: number;
  /** Whether it inserts events, which must then be numbered. */
  readonly addsEvents?: boolean;
  /** Only carries the type; never set. */
  readonly row?: Row;
}

/** What a write did. */
export interface WriteResult {
  /** Rows inserted, updated or deleted. */
  readonly changes: number;
}

/**
 * Runs queries on one database. Calls reject with `MillraceError('store_unavailable')` when the database is away, its
 * queue is full or the time limit has passed, and have changed nothing then. A write rejects with `outcome_unknown` when the engine
 * cannot know whether it changed anything. The engine heals by itself. No call blocks the event loop.
 */
export interface Engine extends AsyncDisposable {
  /** Whether other processes may serve from the same database. */
  readonly isShared: boolean;
  /** SQL for the database's own clock, in milliseconds since the epoch. */
  readonly now: RawBuilder<Milliseconds>;
  /** SQL for a column that holds a flat JSON object as text, after a change of some of its fields: those that are null are removed. */
  readonly patched: (column: string, change: string) => RawBuilder<string>;
  /** SQL at the end of a `select` inside a changing query: leaves out rows that others are changing, instead of waiting for them. */
  readonly skipLocked: RawBuilder<unknown>;
  /** SQL for whether a column of text has this text in it, letter for letter. */
  readonly contains: (column: string, text: string) => RawBuilder<SqlBool>;
  /** Builds and compiles queries in the engine's dialect; it cannot run them. */
  readonly compiler: Kysely<Database>;
  /**
   * A number that differs from the one before when anything was committed in between, by whatever process; undefined when
   * the engine cannot tell. Cheap and never waits: what was read while it stayed the same need not be read again.
   */
  version(): number | undefined;
  /** Sees everything committed before the call, by whatever process. */
  read<Row>(query: Query<Row>): Promise<readonly Row[]>;
  /**
   * All or nothing; resolves after a durable commit, which concurrent callers may share. A caller's failure never fails its
   * neighbours. A write that rejects with `outcome_unknown` may have happened, may happen later, or may never happen.
   *
   * Only SQLite does one write after another. In PostgreSQL each query of a write sees what others committed before it (`read
   * committed`), and waits for those that are changing the same rows: what must not race belongs into a unique index, or into the
   * condition of the changing query.
   * @param announcements told to every listener of every process once it is committed, in order; each at most 4,000 bytes
   * @throws {UniqueViolation} when a row would be there twice
   * @throws {Unchanged} when a query with `mustChange` did not change so many rows
   */
  write(queries: readonly Query[], announcements?: readonly string[]): Promise<readonly WriteResult[]>;
  /**
   * Tells announcements; undefined when some may have been missed: it is told once listening works (again).
   */
  listen(listener: (announcement: string | undefined) => void): Disposable;
}

/** What every engine is given. */
export interface EngineOptions {
  /** Folder for what must last; made when missing. */
  readonly dataDir: string;
  /** Where the database is, for one that is not a file: `postgres://...`. Holds a password, so it is never logged or echoed. */
  readonly databaseUrl: Secret | undefined;
  /**
   * Whether this process serves: it then holds the data folder until it ends, and a second one that asks for it is refused.
   * Commands beside a running server pass false.
   */
  readonly exclusive: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until a read rejects, the wait in the queue included. */
  readonly readTimeoutMs: number;
  /** Milliseconds until a write rejects, the wait in the queue included. */
  readonly writeTimeoutMs: number;
  /** Calls waiting or running, each for reads and writes, above which more are refused. */
  readonly maxPending: number;
  /** Milliseconds that closing waits for reads under way, then for writes; those left are rejected. */
  readonly closeTimeoutMs: number;
}

/**
 * Opens a database and brings its schema up to date.
 * @throws {StoreOpenError} when it cannot serve, with a sentence for the operator
 */
export type OpenEngine = (options: EngineOptions) => Promise<Engine>;

/**
 * Looks at a database without changing it: where it is, as it may be shown, and which migrations it has had.
 * @throws {StoreOpenError} when it cannot be asked; one that is yet to be made has had none
 */
export type InspectEngine = (
  options: Pick<EngineOptions, 'dataDir' | 'databaseUrl'>,
) => Promise<{ readonly place: string; readonly migrations: readonly string[] }>;

/** A query did not change as many rows as it must; nothing of its write happened. */
export class Unchanged extends Error {
  override readonly name = 'Unchanged';
}

/** A row that must be unique is there already. */
export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
}

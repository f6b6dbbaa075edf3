/**
 * The contract of a database engine, which runs compiled queries for the store. Each engine is a file in `engines/`, listed in
 * `engines.ts`.
 */
import type { Kysely, RawBuilder, SqlBool } from 'kysely';
import type { Secret } from '#domain/secret.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Database } from './database.ts';

/** The value of a parameter or column. Times and sizes are whole numbers, flags are 0 or 1, and everything else is text. */
export type SqlValue = string | number | null;

/** A compiled query with its parameters. `Row` is the form of one row of its result. */
export interface Query<Row = unknown> {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  /** For writes: the number of rows that the query must change. If it changes another number, the whole write is undone. */
  readonly mustChange?: number;
  /** Whether the query inserts events, which must then be numbered. */
  readonly addsEvents?: boolean;
  /** Whether the query concerns leases of nodes, so that it must not wait for other calls. Engines for a single node ignore this. */
  readonly isUrgent?: boolean;
  /** Only carries the type. Never set. */
  readonly row?: Row;
}

/** The result of a write. */
export interface WriteResult {
  /** The number of rows inserted, updated or deleted. */
  readonly changes: number;
}

/** The first rows that a query finds. */
export interface FirstRows<Row> {
  readonly rows: readonly Row[];
  /** The approximate size of their values. */
  readonly sizeBytes: number;
  /** Whether the query finds more rows than these. */
  readonly isCut: boolean;
}

/**
 * Runs queries on one database. Calls reject with `MillraceError('store_unavailable')` when the database is down, its queue is full or the
 * time limit has passed. Such a call changes nothing. A write rejects with `outcome_unknown` when the engine cannot know whether it changed
 * anything. The engine recovers by itself. No call blocks the event loop.
 */
export interface Engine extends AsyncDisposable {
  /** Whether other processes may use the same database at the same time. */
  readonly isShared: boolean;
  /** SQL for the database's own clock, in milliseconds since the Unix epoch. */
  readonly now: RawBuilder<Milliseconds>;
  /** SQL that merges a change into a column that holds a flat JSON object as text. Fields that are null in the change are removed. */
  readonly patched: (column: string, change: string) => RawBuilder<string>;
  /** SQL at the end of a `select` inside a changing query. It skips rows that others are changing, instead of waiting for them. */
  readonly skipLocked: RawBuilder<unknown>;
  /** SQL for whether a text column contains a text, compared character by character. */
  readonly contains: (column: string, text: string) => RawBuilder<SqlBool>;
  /** Builds and compiles queries in the engine's dialect. It cannot run them. */
  readonly compiler: Kysely<Database>;
  /**
   * A number that changes whenever any process commits, or undefined when the engine cannot tell. It is cheap and never waits. While it
   * stays the same, what was read before need not be read again.
   */
  version(): number | undefined;
  /** Runs a query, which sees everything that any process committed before the call. */
  read<Row>(query: Query<Row>): Promise<readonly Row[]>;
  /** Like `read`, but ends with the row that brings the rows to `maxBytes`, so that the memory and time of an answer are bounded. */
  readFirst<Row>(query: Query<Row>, maxBytes: number): Promise<FirstRows<Row>>;
  /**
   * Runs queries in one transaction. Resolves after a durable commit, which concurrent callers may share. The failure of one caller never
   * fails another's call. A write that rejects with `outcome_unknown` may have happened, may happen later, or may never happen.
   *
   * Only SQLite runs writes one after another. In PostgreSQL each query of a write sees what others committed before it (`read committed`),
   * and waits for those that are changing the same rows. Prevent races by a unique index, or by the condition of the changing query.
   * @param announcements delivered in order to every listener of every process after the commit; each at most 4,000 bytes
   * @throws {UniqueViolation} when a row with the same unique value exists
   * @throws {Unchanged} when a query with `mustChange` changed another number of rows
   */
  write(queries: readonly Query[], announcements?: readonly string[]): Promise<readonly WriteResult[]>;
  /**
   * Calls the listener with announcements, and with undefined when some may have been missed, as soon as it can receive them again.
   */
  listen(listener: (announcement: string | undefined) => void): Disposable;
}

/** The options of every engine. */
export interface EngineOptions {
  /** The folder for data that must last. It is created when it is missing. */
  readonly dataDir: string;
  /** The URL of a database that is not a file: `postgres://...`. It holds a password, so it is never logged or shown. */
  readonly databaseUrl: Secret | undefined;
  /**
   * Whether this process serves. It then holds the data folder until it ends, and a second serving process is refused. Commands that run
   * beside a server pass false.
   */
  readonly exclusive: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until a read rejects, including the wait in the queue. */
  readonly readTimeoutMs: number;
  /** Milliseconds until a write rejects, including the wait in the queue. */
  readonly writeTimeoutMs: number;
  /** The largest number of reads, and of writes, that may wait or run. More are refused. */
  readonly maxPending: number;
  /** Milliseconds that closing waits for running reads, and then for writes. The rest are rejected. */
  readonly closeTimeoutMs: number;
}

/**
 * Opens a database and brings its schema up to date.
 * @throws {StoreOpenError} when the database cannot be used, with an explanation for the operator
 */
export type OpenEngine = (options: EngineOptions) => Promise<Engine>;

/**
 * Inspects a database without changing it: its location in a form that may be shown, and its applied migrations.
 * @throws {StoreOpenError} when the database cannot be read; one that does not exist yet has no migrations
 */
export type InspectEngine = (
  options: Pick<EngineOptions, 'dataDir' | 'databaseUrl'>,
) => Promise<{ readonly place: string; readonly migrations: readonly string[] }>;

/** A query changed another number of rows than `mustChange`, so its whole write was undone. */
export class Unchanged extends Error {
  override readonly name = 'Unchanged';
}

/** A row with the same unique value exists. */
export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
}

/**
 * The messages between the main thread and a database worker: one batch of calls, then one batch of answers in the same order. A reader may
 * answer only the first calls of a batch.
 */
import type { Query, SqlValue } from '#store/engine.ts';
import type { Failure } from './failure.ts';
import type { Faults } from './faults.ts';

/** The role of a worker. `write` changes the database, `read` cannot. */
export type Role = 'read' | 'write';

/** The data that a worker is started with. */
export interface WorkerJob {
  readonly role: Role;
  /** The path of the database. */
  readonly path: string;
  /** Set only by tests. */
  readonly faults: Faults | undefined;
}

/**
 * The queries of one caller: one query to read, or one or more to write in one transaction.
 * `maxBytes` of a query to read is that of `Engine.readFirst`.
 */
export type Call = readonly (Query & { readonly maxBytes?: number })[];

/** A message to a worker. `close` is the last one. */
export type LaneRequest = readonly Call[] | 'close';

/** The result of one call. */
export type CallOutcome = Rows | Changes | Failure;

/** The result of a read. Values are arrays in the order of the columns, because records would repeat the column names in every row. */
export interface Rows {
  readonly kind: 'rows';
  readonly rows: readonly (readonly SqlValue[])[];
  /** The column names. All answers to one query of a batch share the array, so that it is sent once. */
  readonly columns: readonly string[];
  readonly sizeBytes: number;
  /** Whether rows were left out. */
  readonly isCut: boolean;
}

/** The result of a write: the number of rows that each of its queries changed. */
export interface Changes {
  readonly kind: 'changes';
  readonly changes: readonly number[];
}

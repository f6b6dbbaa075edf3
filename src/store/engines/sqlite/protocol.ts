/**
 * What the main thread and a database worker say to each other: one batch of calls, then one batch of answers in the same order.
 */
import type { Query, SqlValue } from '#store/engine.ts';
import type { Failure } from './failure.ts';
import type { Faults } from './faults.ts';

/** What a worker is for: `write` alone changes the database, `read` cannot. */
export type Role = 'read' | 'write';

/** What a worker is started with. */
export interface WorkerJob {
  readonly role: Role;
  /** Path of the database. */
  readonly path: string;
  /** Only tests give it. */
  readonly faults: Faults | undefined;
}

/** One caller's queries: a single one to read, one or more to write all or nothing. */
export type Call = readonly Query[];

/** To a worker. `close` is the last message. */
export type LaneRequest = readonly Call[] | 'close';

/** The outcome of one call. */
export type CallOutcome = Rows | Changes | Failure;

/** Of a read: the values by column, because records would repeat the columns' names in every row. */
export interface Rows {
  readonly kind: 'rows';
  readonly rows: readonly (readonly SqlValue[])[];
  /** The columns' names; the same array for every answer to one query of a batch, so that it is sent once. */
  readonly columns: readonly string[];
}

/** Of a write: rows changed by each of its queries. */
export interface Changes {
  readonly kind: 'changes';
  readonly changes: readonly number[];
}

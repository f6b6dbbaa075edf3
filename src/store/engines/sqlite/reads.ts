/**
 * Runs a batch of reads.
 */
import type { StatementSync } from 'node:sqlite';
import type { SqlValue } from '#store/engine.ts';
import { PAGE_BYTES } from '#store/page.ts';
import type { SqliteConnection } from './connection.ts';
import { failureOf } from './failure.ts';
import type { Call, CallOutcome, Rows } from './protocol.ts';

/**
 * The size of the rows in a batch of answers at which the rest of the calls is left for the next batch. The event loop receives a batch in
 * one go, so a single one with the answers of many large lists would block it.
 */
const BATCH_BYTES = PAGE_BYTES;

/** The number of calls from which one shared snapshot is cheaper than a lock and unlock for each call. */
const SHARED_SNAPSHOT = 3;

/** Answers the first calls, in order: at least one, and all of them unless their answers are large. It never throws. */
export function runReads(connection: SqliteConnection, calls: readonly Call[]): CallOutcome[] {
  try {
    const db = connection.database();
    const shared = calls.length >= SHARED_SNAPSHOT;
    if (shared) connection.prepare('BEGIN').statement.run();
    try {
      return readSome(connection, calls);
    } finally {
      if (shared && db.isTransaction) connection.prepare('COMMIT').statement.run();
    }
  } catch (error) {
    connection.close();
    const failure = failureOf(error);
    return calls.map(() => failure);
  }
}

function readSome(connection: SqliteConnection, calls: readonly Call[]): CallOutcome[] {
  const answers: CallOutcome[] = [];
  let sizeBytes = 0;
  for (const call of calls) {
    const answer = read(connection, call);
    answers.push(answer);
    if (answer.kind === 'rows') sizeBytes += answer.sizeBytes;
    if (sizeBytes >= BATCH_BYTES) break;
  }
  return answers;
}

/** Runs one read. @throws when the database cannot be reached; an error of the call itself becomes its answer */
function read(connection: SqliteConnection, [query]: Call): CallOutcome {
  if (query === undefined) return { kind: 'defect', reason: 'a read without a query' };
  try {
    const { statement, columns } = connection.prepare(query.sql);
    const found = firstRows(statement, query);
    connection.succeeded();
    return { kind: 'rows', columns, ...found };
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'away') throw error;
    return failure;
  }
}

/** Reads rows until they have the size that the query allows. */
function firstRows(
  statement: StatementSync,
  { parameters, maxBytes }: Call[number],
): Pick<Rows, 'rows' | 'sizeBytes' | 'isCut'> {
  if (maxBytes === undefined) {
    const all = statement.all(...parameters) as unknown as SqlValue[][];
    return { rows: all, sizeBytes: all.reduce((sum, row) => sum + sizeOf(row), 0), isCut: false };
  }
  const rows: SqlValue[][] = [];
  let sizeBytes = 0;
  for (const row of statement.iterate(...parameters) as unknown as Iterable<SqlValue[]>) {
    if (sizeBytes >= maxBytes) return { rows, sizeBytes, isCut: true };
    rows.push(row);
    sizeBytes += sizeOf(row);
  }
  return { rows, sizeBytes, isCut: false };
}

const NUMBER_BYTES = 8;

function sizeOf(row: readonly SqlValue[]): number {
  let bytes = 0;
  for (const value of row) bytes += typeof value === 'string' ? Buffer.byteLength(value) : NUMBER_BYTES;
  return bytes;
}

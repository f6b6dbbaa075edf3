/**
 * Runs a batch of reads.
 */
import type { SqlValue } from '#store/engine.ts';
import type { SqliteConnection } from './connection.ts';
import { failureOf } from './failure.ts';
import type { Call, CallOutcome } from './protocol.ts';

/** The number of calls from which one shared snapshot is cheaper than a lock and unlock for each call. */
const SHARED_SNAPSHOT = 3;

/** Answers every call, in order. It never throws. */
export function runReads(connection: SqliteConnection, calls: readonly Call[]): CallOutcome[] {
  try {
    const db = connection.database();
    const shared = calls.length >= SHARED_SNAPSHOT;
    if (shared) connection.prepare('BEGIN').statement.run();
    try {
      return calls.map((call) => read(connection, call));
    } finally {
      if (shared && db.isTransaction) connection.prepare('COMMIT').statement.run();
    }
  } catch (error) {
    connection.close();
    const failure = failureOf(error);
    return calls.map(() => failure);
  }
}

/** Runs one read. @throws when the database cannot be reached; an error of the call itself becomes its answer */
function read(connection: SqliteConnection, [query]: Call): CallOutcome {
  if (query === undefined) return { kind: 'defect', reason: 'a read without a query' };
  try {
    const { statement, columns } = connection.prepare(query.sql);
    const rows = statement.all(...query.parameters) as unknown as SqlValue[][];
    connection.succeeded();
    return { kind: 'rows', rows, columns };
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'away') throw error;
    return failure;
  }
}

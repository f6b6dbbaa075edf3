/**
 * Runs a batch of writes in one transaction, so that they share one commit.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Query } from '#store/engine.ts';
import type { SqliteConnection } from './connection.ts';
import { failureOf, NotChanged, RESULT, resultCode } from './failure.ts';
import { type Faults, failCommit, holdCommit, limitPages } from './faults.ts';
import type { Call, CallOutcome } from './protocol.ts';

/** Answers every call, in order, after the commit. It never throws. The error of one call does not affect the others. */
export function runWrites(
  connection: SqliteConnection,
  calls: readonly Call[],
  faults: Faults | undefined,
): CallOutcome[] {
  let db: DatabaseSync | undefined;
  let isCommitting = false;
  try {
    db = connection.database();
    if (faults !== undefined) limitPages(db, faults);
    connection.prepare('BEGIN IMMEDIATE').statement.run();
    const answers = writeAll(connection, calls);
    isCommitting = true;
    if (faults !== undefined) holdCommit(faults);
    connection.prepare('COMMIT').statement.run();
    if (faults !== undefined) failCommit(faults);
    connection.succeeded();
    return answers;
  } catch (error) {
    // A full disk and another process's lock are temporary. After any other error the state of the connection is in doubt.
    const isTemporary = [RESULT.full, RESULT.busy].some((code) => code === resultCode(error));
    const isUndone = isTemporary && rolledBack(db);
    if (!isUndone) connection.close();
    const failure = failureOf(error);
    // A commit that was written but not flushed is valid for whoever opens the database next.
    return calls.map(() => (isCommitting && !isUndone ? { ...failure, kind: 'unknown' } : failure));
  }
}

/** Thrown when a call failed after some of its queries had changed something. */
class HalfDone extends Error {
  override readonly name = 'HalfDone';
}

/**
 * Runs the calls in the open transaction, at first without savepoints, which would make every call half as expensive again, because SQLite
 * keeps a copy of each page that changes within one. A call that fails nearly always does so with its first query and leaves nothing to
 * undo. If one fails after it has changed something, the whole batch is run again with savepoints.
 * @throws when the database cannot be reached; nothing of the batch has been committed then
 */
function writeAll(connection: SqliteConnection, calls: readonly Call[]): CallOutcome[] {
  try {
    return calls.map((call) => write(connection, call));
  } catch (error) {
    if (!(error instanceof HalfDone)) throw error;
    connection.prepare('ROLLBACK').statement.run();
    connection.prepare('BEGIN IMMEDIATE').statement.run();
    return calls.map((call) => writeUndoably(connection, call));
  }
}

/** Runs one call without a savepoint. @throws {HalfDone}, and an error of SQLite when the database cannot be reached */
function write(connection: SqliteConnection, call: Call): CallOutcome {
  const changes: number[] = [];
  try {
    for (const query of call) changes.push(run(connection, query));
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'away' || !connection.database().isTransaction) throw error;
    // SQLite undoes a failing statement by itself, but not one that changed another number of rows than it must.
    const hasChanged = changes.length > 0 || (error instanceof NotChanged && error.changes > 0);
    if (hasChanged) throw new HalfDone();
    return failure;
  }
  return { kind: 'changes', changes };
}

/** Runs one call in a savepoint, so that it leaves nothing when it fails. @throws when the database cannot be reached */
function writeUndoably(connection: SqliteConnection, call: Call): CallOutcome {
  connection.prepare('SAVEPOINT call').statement.run();
  try {
    const changes = call.map((query) => run(connection, query));
    connection.prepare('RELEASE call').statement.run();
    return { kind: 'changes', changes };
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'away' || !connection.database().isTransaction) throw error;
    connection.prepare('ROLLBACK TO call').statement.run();
    connection.prepare('RELEASE call').statement.run();
    return failure;
  }
}

function run(connection: SqliteConnection, { sql, parameters, mustChange }: Query): number {
  const changes = Number(connection.prepare(sql).statement.run(...parameters).changes);
  if (mustChange !== undefined && changes !== mustChange) {
    throw new NotChanged(changes, mustChange);
  }
  return changes;
}

function rolledBack(db: DatabaseSync | undefined): boolean {
  try {
    if (db?.isTransaction) db.exec('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

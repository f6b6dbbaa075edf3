/**
 * Runs a batch of writes in one transaction, so that they share one commit.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Query } from '#store/engine.ts';
import type { Connection } from './connection.ts';
import { failureOf, NotChanged, RESULT, resultCode } from './failure.ts';
import { type Faults, holdCommit, limitPages } from './faults.ts';
import type { Answer, Call } from './protocol.ts';

/** Answers every call, in order, after the commit; never throws. What one call does wrong costs the others nothing. */
export function runWrites(connection: Connection, calls: readonly Call[], faults: Faults | undefined): Answer[] {
  let db: DatabaseSync | undefined;
  try {
    db = connection.database();
    if (faults !== undefined) limitPages(db, faults);
    connection.prepare('BEGIN IMMEDIATE').statement.run();
    const answers = calls.map((call) => write(connection, call));
    if (faults !== undefined) holdCommit(faults);
    connection.prepare('COMMIT').statement.run();
    connection.succeeded();
    return answers;
  } catch (error) {
    // A full disk and another process's lock pass; after anything else the connection's own state is in doubt.
    const passes = [RESULT.full, RESULT.busy].some((code) => code === resultCode(error));
    if (!(passes && rolledBack(db))) connection.close();
    const failure = failureOf(error);
    return calls.map(() => failure);
  }
}

/** @throws when the database is away: then nothing of the whole batch has happened */
function write(connection: Connection, call: Call): Answer {
  // SQLite undoes a single failing statement by itself.
  const alone = call.length === 1 && call[0]?.mustChange === undefined;
  if (!alone) connection.prepare('SAVEPOINT call').statement.run();
  try {
    const changes = call.map((query) => run(connection, query));
    if (!alone) connection.prepare('RELEASE call').statement.run();
    return { kind: 'changes', changes };
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind === 'away' || !connection.database().isTransaction) throw error;
    if (!alone) {
      connection.prepare('ROLLBACK TO call').statement.run();
      connection.prepare('RELEASE call').statement.run();
    }
    return failure;
  }
}

function run(connection: Connection, { sql, parameters, mustChange }: Query): number {
  const changes = Number(connection.prepare(sql).statement.run(...parameters).changes);
  if (mustChange !== undefined && changes !== mustChange) {
    throw new NotChanged(`${changes} rows changed instead of ${mustChange}`);
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

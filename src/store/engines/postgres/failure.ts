/**
 * Classifies failures of calls to PostgreSQL by their meaning for the caller.
 */
import { DatabaseError } from 'pg';

/** The failure of a call. */
export interface Failure {
  /**
   * `unique`: a row with the same unique value exists. `clash`: the transaction was undone because of another one, and may be tried again.
   * `stale`: the connection holds a query that was prepared for tables that have changed. `away`: the database cannot do it now. `defect`:
   * the query is wrong.
   */
  readonly kind: 'unique' | 'clash' | 'stale' | 'away' | 'defect';
  /** PostgreSQL's message, without values, users and passwords. */
  readonly reason: string;
  /** Whether the connection can still be used. */
  readonly isConnectionUsable: boolean;
}

/** The error codes that are distinguished (postgresql.org/docs/current/errcodes-appendix.html). */
export const CODE = {
  featureNotSupported: '0A000',
  readOnlyTransaction: '25006',
  idleInTransaction: '25P03',
  unknownStatement: '26000',
  invalidDatabase: '3D000',
  serializationFailure: '40001',
  deadlock: '40P01',
  insufficientPrivilege: '42501',
  duplicateStatement: '42P05',
  uniqueViolation: '23505',
  tooManyConnections: '53300',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  cannotConnectNow: '57P03',
} as const;

const KINDS: Readonly<Record<string, Failure['kind']>> = {
  [CODE.uniqueViolation]: 'unique',
  [CODE.serializationFailure]: 'clash',
  [CODE.deadlock]: 'clash',
  // A transaction pooler without prepared statements, or one that has lost them.
  [CODE.unknownStatement]: 'stale',
  [CODE.duplicateStatement]: 'stale',
  // The server has become a standby.
  [CODE.readOnlyTransaction]: 'away',
  [CODE.lockNotAvailable]: 'away',
  // The server aborted a transaction that waited too long for its next query.
  [CODE.idleInTransaction]: 'away',
  [CODE.invalidDatabase]: 'away',
};

/** The error classes for connection, authorization, resources, operator intervention and system errors. */
const AWAY_CLASSES = ['08', '28', '53', '57', '58'];

/**
 * The classes of errors that end a connection (08: connection, 57: operator intervention). Such an error may arrive in place of the answer
 * to a commit.
 */
const ENDS_CONNECTION = ['08', '57'];

/** Thrown by this side when the database cannot be reached. */
export class Away extends Error {
  override readonly name: string = 'Away';
}

/**
 * Whether an error proves that the server did nothing. The error of a failed query does, and so does that of every later query in the same
 * transaction. When a connection ends, for whatever reason, the commit in progress may have happened.
 */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.code === undefined) return false;
  return error.code === CODE.queryCanceled || !ENDS_CONNECTION.includes(error.code.slice(0, 2));
}

/** Classifies an error of `pg`, or an {@link Away}. Errors without a code are connection errors. */
export function failureOf(error: unknown): Failure {
  const reason = reasonOf(error);
  if (!(error instanceof DatabaseError) || error.code === undefined) {
    return { kind: 'away', reason, isConnectionUsable: false };
  }
  const kind = kindOf(error.code, error.message);
  const isConnectionUsable = error.code === CODE.queryCanceled || !['stale', 'away'].includes(kind);
  return { kind, reason, isConnectionUsable };
}

function kindOf(code: string, message: string): Failure['kind'] {
  if (code === CODE.featureNotSupported) return message.startsWith('cached plan') ? 'stale' : 'defect';
  return KINDS[code] ?? (AWAY_CLASSES.includes(code.slice(0, 2)) ? 'away' : 'defect');
}

/**
 * The message of an error for a log or a person. PostgreSQL names the user when it refuses one, and the value when it is wrong; for such
 * errors only the code is given. `detail` is never used, because it repeats rows.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown';
  if (!(error instanceof DatabaseError)) return error.message;
  const code = error.code ?? 'no code';
  if (code.startsWith('28')) return `the user or password is refused, ${code}`;
  if (code === CODE.tooManyConnections) return `too many connections, ${code}`;
  if (code.startsWith('22')) return `a value does not fit, ${code}`;
  return `${error.message}, ${code}`;
}

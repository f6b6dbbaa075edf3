/**
 * Classifies failures of calls to SQLite by their meaning for the caller.
 */

/** The failure of a call, in the form in which it is sent between threads. */
export interface Failure {
  /**
   * `unique`: a row with the same unique value exists. `unchanged`: a query changed another number of rows than it must. `away`: the
   * database cannot do it now, and has changed nothing. `unknown`: it may have been done. `defect`: the query is wrong.
   */
  readonly kind: 'unique' | 'unchanged' | 'away' | 'unknown' | 'defect';
  /** SQLite's message. It may name columns, never values. */
  readonly reason: string;
}

/** The primary result codes (sqlite.org/rescode.html) that are distinguished. */
export const RESULT = {
  error: 1,
  permission: 3,
  busy: 5,
  readOnly: 8,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  misuse: 21,
  range: 25,
  notADatabase: 26,
} as const;

/** The extended result codes for a violated unique index or primary key. */
const UNIQUE = [2067, 1555];

const DEFECTS: readonly number[] = [
  RESULT.error,
  RESULT.tooBig,
  RESULT.constraint,
  RESULT.mismatch,
  RESULT.misuse,
  RESULT.range,
];

/** The database cannot be reached now, or could not be a moment ago. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway';
}

/** A query changed another number of rows than it must. */
export class NotChanged extends Error {
  override readonly name = 'NotChanged';
  readonly changes: number;

  constructor(changes: number, mustChange: number) {
    super(`${changes} rows changed instead of ${mustChange}`);
    this.changes = changes;
  }
}

/** Classifies an error of `node:sqlite` or of opening the database. */
export function failureOf(error: unknown): Failure {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof DatabaseAway) return { kind: 'away', reason };
  if (error instanceof NotChanged) return { kind: 'unchanged', reason };
  const code = extendedCode(error);
  if (code === undefined) return { kind: 'defect', reason };
  if (UNIQUE.includes(code)) return { kind: 'unique', reason };
  return { kind: DEFECTS.includes(code & 0xff) ? 'defect' : 'away', reason };
}

/** The primary result code of a SQLite error. */
export function resultCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode;
}

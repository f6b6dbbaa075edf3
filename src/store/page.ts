/**
 * Whose records a call sees, and the pages in which it lists them.
 */
import type { UserId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The records that a call may see: those of one user, or those of everybody for an admin. */
export type Scope = UserId | 'everyone';

/** The end of a list page: the value by which the list is ordered and the id of the last row. */
export interface PageKey {
  readonly at: Milliseconds;
  readonly id: string;
}

/** A part of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The end of this page, where the next one begins. Undefined when there is none. */
  readonly next: PageKey | undefined;
}

/** The options of every list. Rows with the same time are ordered by id, in the same direction. */
export interface PageOptions {
  /** From 1 to 1000. */
  readonly limit: number;
  readonly after?: PageKey | undefined;
}

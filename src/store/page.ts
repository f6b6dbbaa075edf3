/**
 * Whose records a call sees, and the pages in which it lists them.
 */
import type { UserId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The records that a call may see: those of one user, or those of everybody for an admin. */
export type Scope = UserId | 'everyone';

/** Whether the scope includes what belongs to that user. */
export const isInScope = (scope: Scope, userId: UserId): boolean => scope === 'everyone' || scope === userId;

/** The end of a list page: the value by which the list is ordered and the id of the last row. */
export interface PageKey {
  readonly at: Milliseconds;
  readonly id: string;
}

/**
 * The size of stored rows at which a page of a list ends, although it has fewer rows than were asked for. Reading, presenting and sending
 * so much takes the event loop about 10 ms. A thousand streams of a few renditions are smaller.
 */
export const PAGE_BYTES = 1_048_576;

/** A part of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The end of this page, where the next one begins. Undefined when there is none. */
  readonly next: PageKey | undefined;
}

/** The options of every list. Rows with the same time are ordered by id, in the same direction. */
export interface PageOptions {
  /** From 1 to 1000. A page has fewer rows than this, although another one follows, when they have {@link PAGE_BYTES}. */
  readonly limit: number;
  readonly after?: PageKey | undefined;
}

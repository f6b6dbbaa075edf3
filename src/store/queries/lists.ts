/**
 * What the queries of every list have in common: one page is one range of one index, however long the list is and wherever in it
 * the page lies.
 *
 * Each list leads to one index by the conditions of {@link is}; whatever else is asked for is {@link alsoIs}, which no index
 * answers, so that a planner has no choice that would be slow. The indexes are in `migrations/0002-manage.ts`.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { SqlValue } from '#store/engine.ts';
import type { ListOptions, ListOrder, PageKey } from '#store/store.ts';

/** The column of each order. */
export const ORDER_COLUMNS = { createdAt: 'created_at', lastSeen: 'last_seen' } as const satisfies Record<
  ListOrder,
  string
>;

/** A condition of a query. */
export type Condition = RawBuilder<SqlBool>;

/** What may stand for a value while a query is prepared. */
type Value = SqlValue | undefined;

/** A column must hold this: an index leads there. */
export const is = (column: string, value: Value): Condition => sql`${sql.ref(column)} = ${value}`;

/** A column of text must hold this, and no index is to lead there. */
export const alsoIs = (column: string, value: Value): Condition => sql`${sql.ref(column)} || '' = ${value}`;

/** A column of numbers, to order rows by that were found in another way than through an index of this order. */
export const unindexed = (column: string): RawBuilder<number> => sql`${sql.ref(column)} + 0`;

/** The same of a flag. */
export const alsoIsFlag = (column: string, value: Value): Condition => sql`${sql.ref(column)} + 0 = ${value}`;

/** Where a page begins and where the list ends. Bounds that are absent are not used. */
export interface RangeArgs {
  readonly after_at?: number;
  readonly after_id?: string;
  readonly until_at?: number;
  readonly until_id?: string;
  readonly from?: number;
  readonly to?: number;
}

/** How a page is ordered. */
export type OrderChoice = Pick<ListOptions, 'order' | 'direction'>;

/** The conditions of a range, at most one at each end: of two, an index would be entered at either. */
export function rangeConditions(column: string, direction: ListOptions['direction'], args: RangeArgs): Condition[] {
  const time = sql.ref(column);
  const conditions: Condition[] = [];
  if ('from' in args) conditions.push(sql`${time} >= ${args.from}`);
  if ('to' in args) conditions.push(sql`${time} <= ${args.to}`);
  // One comparison of pairs, because an index answers it with one range; `or` would read both halves.
  if ('after_at' in args) {
    const isAfter = direction === 'asc' ? sql`>` : sql`<`;
    conditions.push(sql`(${time}, ${sql.ref('id')}) ${isAfter} (${args.after_at}, ${args.after_id})`);
  }
  if ('until_at' in args) {
    const isNotAfter = direction === 'asc' ? sql`<=` : sql`>=`;
    conditions.push(sql`(${time}, ${sql.ref('id')}) ${isNotAfter} (${args.until_at}, ${args.until_id})`);
  }
  return conditions;
}

/**
 * The arguments of {@link rangeConditions}: of a page's start and the bound on the same side, the narrower one.
 * @param until the last row to be read, which lies within the bounds
 */
export function rangeArgs(
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  direction: ListOptions['direction'],
  after?: PageKey,
  until?: PageKey,
): RangeArgs {
  const startsAtBound =
    after === undefined ||
    (direction === 'asc' ? from !== undefined && from > after.at : to !== undefined && to < after.at);
  const endsAtBound = until === undefined;
  const hasFrom = from !== undefined && (direction === 'asc' ? startsAtBound : endsAtBound);
  const hasTo = to !== undefined && (direction === 'asc' ? endsAtBound : startsAtBound);
  return {
    ...(!startsAtBound && { after_at: after.at, after_id: after.id }),
    ...(!endsAtBound && { until_at: until.at, until_id: until.id }),
    ...(hasFrom && { from }),
    ...(hasTo && { to }),
  };
}

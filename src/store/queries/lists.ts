/**
 * What the queries of all lists share: a page is one range of one index, however long the list is and wherever the page is in it.
 *
 * The conditions made by {@link is} lead to one index. All other conditions use {@link alsoIs}, which no index can answer, so that the
 * query planner cannot choose a slow plan. The indexes are in `migrations/0002-manage.ts`.
 */
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { UserId } from '#domain/ids.ts';
import type { Database } from '#store/database.ts';
import type { SqlValue } from '#store/engine.ts';
import type { PageKey } from '#store/page.ts';
import { compilable } from '#store/prepared-query.ts';
import type { ListOptions, ListOrder } from '#store/store.ts';

/** The column for each order. */
export const ORDER_COLUMNS = { createdAt: 'created_at', lastSeen: 'last_seen' } as const satisfies Record<
  ListOrder,
  string
>;

/** A condition of a query. */
export type Condition = RawBuilder<SqlBool>;

/** A value, or a placeholder while a query is prepared. */
type Value = SqlValue | undefined;

/** A column must have this value. An index may be used for it. */
export const is = (column: string, value: Value): Condition => sql`${sql.ref(column)} = ${value}`;

/** A row must belong to the user, if the arguments name one. An index may be used for it. */
export const ofUser = ({ user_id }: { readonly user_id?: UserId | undefined }): Condition =>
  user_id === undefined ? sql`1 = 1` : is('user_id', user_id);

/** A text column must have this value. No index is used for it. */
export const alsoIs = (column: string, value: Value): Condition => sql`${sql.ref(column)} || '' = ${value}`;

/** A column of numbers by which rows are ordered without an index, because they were found through another index. */
export const unindexed = (column: string): RawBuilder<number> => sql`${sql.ref(column)} + 0`;

/** A flag column must have this value. No index is used for it. */
export const alsoIsFlag = (column: string, value: Value): Condition => sql`${sql.ref(column)} + 0 = ${value}`;

/** The start of a page and the bounds of the list. Absent bounds are not used. */
export interface RangeArgs {
  readonly after_at?: number;
  readonly after_id?: string;
  readonly until_at?: number;
  readonly until_id?: string;
  readonly from?: number;
  readonly to?: number;
}

/** The arguments of a page. */
export type PageArgs = RangeArgs & { readonly limit: number };

/** The rows of a page, which are ordered by a time and then by their ids. */
interface PageRows {
  readonly table: keyof Database;
  /** All columns by default. */
  readonly columns?: RawBuilder<unknown> | undefined;
  readonly conditions: readonly Condition[];
  /** The column with the time. */
  readonly order: string;
  readonly direction: ListOptions['direction'];
}

/** SQL for conditions, all of which must hold. */
export const whereAll = (conditions: readonly Condition[]): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`` : sql` where ${sql.join(conditions, sql` and `)}`;

/** SQL for an order by an expression and then by the ids. */
export const inOrder = (by: RawBuilder<unknown>, direction: ListOptions['direction']): RawBuilder<unknown> =>
  sql`order by ${by} ${sql.raw(direction)}, ${sql.ref('id')} ${sql.raw(direction)}`;

/** SQL for the rows of a list. It has no limit. */
export const rowsOf = ({ table, columns = sql`*`, conditions, order, direction }: PageRows): RawBuilder<unknown> =>
  sql`select ${columns} from ${sql.table(table)}${whereAll(conditions)} ${inOrder(sql.ref(order), direction)}`;

/** A page of a table, the newest rows first. @param options.time the column by which the rows are ordered */
export function newestFirst<Row>(
  db: Kysely<Database>,
  table: keyof Database,
  conditions: readonly Condition[],
  args: PageArgs,
  { columns, time = 'created_at' }: { readonly columns?: RawBuilder<unknown>; readonly time?: string } = {},
) {
  const all = [...conditions, ...rangeConditions(time, 'desc', args)];
  const rows = rowsOf({ table, columns, conditions: all, order: time, direction: 'desc' });
  return compilable<Row>(db, sql`${rows} limit ${args.limit}`);
}

/** The conditions of a range, at most one at each end, because with two conditions the planner might enter the index at either. */
export function rangeConditions(column: string, direction: ListOptions['direction'], args: RangeArgs): Condition[] {
  const time = sql.ref(column);
  const conditions: Condition[] = [];
  if ('from' in args) conditions.push(sql`${time} >= ${args.from}`);
  if ('to' in args) conditions.push(sql`${time} <= ${args.to}`);
  // One comparison of pairs is a single range of an index. With `or`, both halves would be read.
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
 * The arguments of {@link rangeConditions}. Of the page's start and the bound on the same side, the narrower one is used.
 * @param until the last row to read, which lies within the bounds
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

/**
 * The queries of a list that can be filtered, ordered by one of several times, and searched by name.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '#store/database.ts';
import type { Query } from '#store/engine.ts';
import type { PageKey } from '#store/page.ts';
import { compilable, prepareEach } from '#store/prepared-query.ts';
import { type Condition, inOrder, type RangeArgs, rangeConditions, rowsOf, unindexed, whereAll } from './lists.ts';

/** The choices that determine the text of a list's query. */
export interface ListChoice<Order extends string> {
  readonly order: Order;
  readonly direction: 'asc' | 'desc';
  /** Lists only rows that are live, or only those that are not. */
  readonly isActive: boolean | undefined;
}

/** The table, orders and conditions of a list. Absent arguments do not filter. */
export interface ListedTable<Order extends string, Args> {
  readonly table: keyof Database;
  /** The columns of a row. All by default. */
  readonly columns?: RawBuilder<unknown>;
  /** The column for each order. */
  readonly orders: Readonly<Record<Order, string>>;
  /** The conditions besides the range. */
  readonly conditions: (choice: ListChoice<Order>, args: Args) => readonly Condition[];
}

/** The queries of a list. */
export interface ListQueries<Row, Order extends string, Args> {
  readonly page: (choice: ListChoice<Order>, args: Args & { readonly limit: number }) => Query<Row>;
  /** Like `page`, for a search by name. The index holds the names, so only matching rows are read. */
  readonly searchPage: (choice: ListChoice<Order>, args: Args & { readonly limit: number }) => Query<Row>;
  /** The row at a distance of `skip` from the first row of the list. */
  readonly nth: (choice: ListChoice<Order>, args: Args & { readonly skip: number }) => Query<PageKey>;
  readonly count: (choice: ListChoice<Order>, args: Args) => Query<{ readonly count: number }>;
}

/** Prepares the queries for one dialect. */
export function listQueries<Row, Order extends string, Args extends RangeArgs>(
  db: Kysely<Database>,
  { table, columns = sql`*`, orders, conditions }: ListedTable<Order, Args>,
): ListQueries<Row, Order, Args> {
  const matching = (choice: ListChoice<Order>, args: Args) => {
    const { order, direction } = choice;
    const all = [...rangeConditions(orders[order], direction, args), ...conditions(choice, args)];
    return { table, conditions: all, order: orders[order], direction };
  };
  return {
    page: prepareEach((choice, args) =>
      compilable(db, sql`${rowsOf({ ...matching(choice, args), columns })} limit ${args.limit}`),
    ),
    searchPage: prepareEach((choice, args) => {
      const ids = rowsOf({ ...matching(choice, args), columns: sql.ref('id') });
      const order = inOrder(unindexed(orders[choice.order]), choice.direction);
      const found = sql`select ${columns} from ${sql.table(table)} where ${sql.ref('id')} in (${ids} limit ${args.limit})`;
      return compilable(db, sql`${found} ${order}`);
    }),
    nth: prepareEach((choice, args) => {
      const key = sql`${sql.ref(orders[choice.order])} as ${sql.ref('at')}, ${sql.ref('id')}`;
      return compilable(db, sql`${rowsOf({ ...matching(choice, args), columns: key })} limit 1 offset ${args.skip}`);
    }),
    count: prepareEach((choice, args) => {
      const { conditions: all } = matching(choice, args);
      return compilable(db, sql`select count(*) as ${sql.ref('count')} from ${sql.table(table)}${whereAll(all)}`);
    }),
  };
}

/**
 * The calls for a list that can be filtered, ordered by one of several times, and searched by name.
 */
import { searchableName } from '#domain/searchable-name.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Page, PageKey, PageOptions, Scope } from '#store/page.ts';
import { type RangeArgs, rangeArgs } from '#store/queries/lists.ts';
import type { ListChoice, ListQueries } from '#store/queries/searchable-list.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import { searchCount, searchPage } from './name-search.ts';

/** The filters that all these lists have. */
interface CommonFilter {
  readonly name?: string;
  readonly isActive?: boolean;
  readonly from?: Milliseconds;
  readonly to?: Milliseconds;
}

/** The calls of the store for one list. */
export interface SearchableList<Filter, Order extends string, Item> {
  list(
    scope: Scope,
    options: PageOptions & Pick<ListChoice<Order>, 'order' | 'direction'> & { readonly filter: Filter },
  ): Promise<Page<Item>>;
  count(scope: Scope, filter: Filter, order: Order): Promise<number>;
}

/**
 * Makes the store's calls for a list.
 * @param itemOf makes a record from a row
 * @param argsOf makes the arguments for the filters that only this list has
 */
export function searchableList<
  Filter extends CommonFilter,
  Order extends string,
  Args extends RangeArgs,
  Row,
  Item extends { readonly id: string } & Readonly<Record<Order, Milliseconds>>,
>(
  runner: Runner,
  queries: ListQueries<Row, Order, Args>,
  itemOf: (row: Row) => Item,
  argsOf: (filter: Filter) => Args,
): SearchableList<Filter, Order, Item> {
  /** Makes the calls for the rows that match a filter, between two keys. */
  function matching(scope: Scope, filter: Filter, choice: ListChoice<Order>) {
    const args = (after?: PageKey, until?: PageKey) => ({
      ...ofScope(scope),
      ...argsOf(filter),
      ...rangeArgs(filter, choice.direction, after, until),
    });
    const named = { ...(filter.name !== undefined && { name_search: searchableName(filter.name) }) };
    return {
      page: (after: PageKey | undefined, limit: number) => queries.page(choice, { ...args(after), limit }),
      search: (after: PageKey | undefined, until: PageKey | undefined, limit: number) =>
        queries.searchPage(choice, { ...args(after, until), ...named, limit }),
      count: (after?: PageKey, until?: PageKey) =>
        runner.count(queries.count(choice, { ...args(after, until), ...named })),
      /** The row at a distance of `skip` from the first one, whatever name is searched for. */
      nth: (after: PageKey | undefined, skip: number) =>
        runner.one(queries.nth(choice, { ...args(after), skip }), (row) => row),
    };
  }

  async function count(scope: Scope, filter: Filter, order: Order): Promise<number> {
    const { isActive } = filter;
    if (isActive === false) {
      // Rows that are not live have no index of their own, so their number is that of all rows minus that of the live ones.
      const { isActive: _, ...rest } = filter;
      const all = await count(scope, rest as Filter, order);
      return Math.max(0, all - (await count(scope, { ...filter, isActive: true }, order)));
    }
    const calls = matching(scope, filter, { order, direction: 'asc', isActive });
    return filter.name === undefined ? calls.count() : searchCount(calls.nth, calls.count);
  }

  return {
    count,

    list(scope, { limit, after, order, direction, filter }) {
      const calls = matching(scope, filter, { order, direction, isActive: filter.isActive });
      const keyOf = (item: Item) => ({ at: item[order], id: item.id });
      if (filter.name === undefined) {
        return runner.page(limit, (rows) => calls.page(after, rows), itemOf, keyOf);
      }
      const matches = (start: PageKey | undefined, end: PageKey | undefined, rows: number, maxBytes: number) =>
        runner.first(calls.search(start, end, rows), itemOf, maxBytes);
      return searchPage({ nth: calls.nth, matches, keyOf }, { limit, after });
    },
  };
}

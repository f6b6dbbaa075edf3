/**
 * Searches a list by name. No index leads to the matching rows, so the list is read window by window, each in a query of its own that reads the
 * index of the list and takes a few milliseconds. A page ends after some windows even if nothing matched, so that its cost is bounded however
 * long the list is. `docs/decisions/0015-search-by-name.md` has the reasons and the figures.
 */
import type { Page, PageKey } from '#store/store.ts';

/** Rows of a list that one query reads at most. */
const WINDOW = 10_000;
/** Windows that are read for one page at most. */
const WINDOWS_A_PAGE = 10;

/** How one list is searched. A window begins after a key, or with the list. */
export interface SearchedList<Item> {
  /** The key of the row that many rows after the first one after a key; undefined when the list ends before. */
  readonly nth: (after: PageKey | undefined, skip: number) => Promise<PageKey | undefined>;
  /** The first matches after one key and up to another, or to the end of the list. */
  readonly matches: (after: PageKey | undefined, until: PageKey | undefined, limit: number) => Promise<readonly Item[]>;
  readonly keyOf: (item: Item) => PageKey;
}

/** The next page of matches. It may have fewer rows than its limit, even none, although there is a next page. */
export async function searchPage<Item>(
  list: SearchedList<Item>,
  { limit, after }: { readonly limit: number; readonly after?: PageKey | undefined },
): Promise<Page<Item>> {
  const found: Item[] = [];
  let start = after;
  for (let windows = 0; windows < WINDOWS_A_PAGE; windows += 1) {
    // The end comes first: rows that are added or deleted between the two queries then move no other row into or out of a window.
    const end = await list.nth(start, WINDOW - 1);
    found.push(...(await list.matches(start, end, limit + 1 - found.length)));
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    if (found.length > limit && last !== undefined) return { rows, next: list.keyOf(last) };
    if (end === undefined) return { rows, next: undefined };
    start = end;
  }
  return { rows: found, next: start };
}

/** Counts the matches of the whole list, window by window. @param count counts the matches after one key and up to another */
export async function searchCount(
  nth: SearchedList<never>['nth'],
  count: (after: PageKey | undefined, until: PageKey | undefined) => Promise<number>,
): Promise<number> {
  let sum = 0;
  for (let start: PageKey | undefined; ; ) {
    const end = await nth(start, WINDOW - 1);
    sum += await count(start, end);
    if (end === undefined) return sum;
    start = end;
  }
}

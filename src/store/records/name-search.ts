/**
 * Searches a list by name. No index leads to matching rows, so the list is read window by window. Each window is one query that reads the
 * index of the list and takes a few milliseconds. A page ends after some windows even if nothing matched, so that its cost is bounded for
 * any list. `docs/decisions/0015-search-by-name.md` has the reasons and the figures.
 */
import type { FirstRows } from '#store/engine.ts';
import { PAGE_BYTES, type Page, type PageKey } from '#store/page.ts';

/** The largest number of rows that one query reads. */
const WINDOW = 10_000;
/** The largest number of windows that are read for one page. */
const WINDOWS_A_PAGE = 10;

/** The queries of one list. A window begins after a key, or at the start of the list. */
export interface SearchedList<Item> {
  /** The key of the row at a distance of `skip` from the first row after a key. Undefined when the list ends before it. */
  readonly nth: (after: PageKey | undefined, skip: number) => Promise<PageKey | undefined>;
  /** The first matches after one key and up to another, or to the end of the list. They end with the one that brings them to `maxBytes`. */
  readonly matches: (
    after: PageKey | undefined,
    until: PageKey | undefined,
    limit: number,
    maxBytes: number,
  ) => Promise<FirstRows<Item>>;
  readonly keyOf: (item: Item) => PageKey;
}

/** Reads the next page of matches. It may have fewer rows than its limit, even none, although there is a next page. */
export async function searchPage<Item>(
  list: SearchedList<Item>,
  { limit, after }: { readonly limit: number; readonly after?: PageKey | undefined },
): Promise<Page<Item>> {
  const found: Item[] = [];
  let start = after;
  let leftBytes = PAGE_BYTES;
  for (let windows = 0; windows < WINDOWS_A_PAGE && leftBytes > 0; windows += 1) {
    // The end of the window is read first, so that rows which are added or deleted between the two queries move no other row into or out of
    // the window.
    const end = await list.nth(start, WINDOW - 1);
    const matches = await list.matches(start, end, limit + 1 - found.length, leftBytes);
    leftBytes -= matches.sizeBytes;
    found.push(...matches.rows);
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    if ((matches.isCut || found.length > limit) && last !== undefined) return { rows, next: list.keyOf(last) };
    if (end === undefined) return { rows, next: undefined };
    start = end;
  }
  return { rows: found, next: start };
}

/** Counts all matches, window by window. @param count counts the matches after one key and up to another */
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

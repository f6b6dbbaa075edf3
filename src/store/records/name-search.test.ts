import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ms } from '#lib/units.ts';
import type { PageKey } from '#store/page.ts';
import { type SearchedList, searchCount, searchPage } from './name-search.ts';

interface Row {
  readonly at: number;
  readonly isMatch: boolean;
}

/** A list in memory that checks that no query reads more than a window. */
class List {
  readonly searched: SearchedList<Row>;
  rows: readonly Row[];
  /** The number of queries since the last page. */
  queries = 0;
  readonly #rowBytes: number;

  constructor(rows: readonly Row[], rowBytes: number) {
    this.rows = rows;
    this.#rowBytes = rowBytes;
    this.searched = {
      keyOf: ({ at }) => keyOf(at),
      nth: async (after, skip) => {
        const row = this.#after(after)[skip];
        return row && keyOf(row.at);
      },
      matches: async (after, until, limit, maxBytes) => {
        const found = this.#matches(after, until).slice(0, limit);
        const rows = found.slice(0, Math.max(1, Math.ceil(maxBytes / this.#rowBytes)));
        return { rows, sizeBytes: rows.length * this.#rowBytes, isCut: rows.length < found.length };
      },
    };
  }

  count = async (after?: PageKey, until?: PageKey) => this.#matches(after, until).length;

  #matches(after: PageKey | undefined, until: PageKey | undefined): readonly Row[] {
    this.queries += 1;
    const window = this.#after(after).filter(({ at }) => until === undefined || at <= until.at);
    assert.ok(window.length <= 10_000, 'a query reads at most a window');
    return window.filter(({ isMatch }) => isMatch);
  }

  #after = (key: PageKey | undefined) => this.rows.filter(({ at }) => key === undefined || at > key.at);
}

const keyOf = (at: number): PageKey => ({ at: ms(at), id: '' });

/** A list with matches at these positions. */
const listOf = (length: number, matches: readonly number[], rowBytes = 1000) => {
  const places = new Set(matches);
  const rows = Array.from({ length }, (_, at) => ({ at, isMatch: places.has(at) }));
  return new List(rows, rowBytes);
};

async function walk({ searched }: List, limit: number): Promise<{ readonly found: number[]; readonly pages: number }> {
  const found: number[] = [];
  let pages = 0;
  let after: PageKey | undefined;
  do {
    const page = await searchPage(searched, { limit, after });
    assert.ok(page.rows.length <= limit);
    found.push(...page.rows.map(({ at }) => at));
    pages += 1;
    after = page.next;
  } while (after !== undefined);
  return { found, pages };
}

test('every match is on one page, in order, and is counted, wherever windows and pages end', async () => {
  const lengths = fc.constantFrom(0, 1, 9999, 10_000, 10_001, 25_000);
  const places = fc.uniqueArray(fc.constantFrom(0, 1, 2, 9998, 9999, 10_000, 10_001, 19_999, 20_000, 24_999));
  await fc.assert(
    fc.asyncProperty(lengths, places, fc.integer({ min: 1, max: 4 }), async (length, matches, limit) => {
      const list = listOf(length, matches);
      const expected = matches.filter((at) => at < length).toSorted((a, b) => a - b);
      assert.deepEqual((await walk(list, limit)).found, expected);
      assert.equal(await searchCount(list.searched.nth, list.count), expected.length);
    }),
    { numRuns: 60 },
  );
});

test('a page ends after ten windows without a match, and the next page continues from there', async () => {
  const list = listOf(250_000, [249_999]);
  const first = await searchPage(list.searched, { limit: 5 });
  assert.deepEqual([first.rows, first.next, list.queries], [[], keyOf(99_999), 10]);
  assert.deepEqual(await walk(list, 5), { found: [249_999], pages: 3 });
});

test('a page ends once its rows have a megabyte, in whichever window, and the next page continues from there', async () => {
  const matches = [1, 2, 3, 12_000, 12_001, 25_000];
  const list = listOf(30_000, matches, 300_000);
  const { rows, next } = await searchPage(list.searched, { limit: 100 });
  assert.deepEqual(
    rows.map(({ at }) => at),
    [1, 2, 3, 12_000],
  );
  assert.deepEqual(next, keyOf(12_000));
  assert.deepEqual(await walk(list, 100), { found: matches, pages: 2 });
});

test('rows that are added while a page is read do not hide or repeat a match', async () => {
  const list = listOf(20_000, [9999, 10_000]);
  const { nth } = list.searched;
  let added = 0;
  const searched: SearchedList<Row> = {
    ...list.searched,
    nth: async (after, skip) => {
      const end = await nth(after, skip);
      added += 1;
      list.rows = [{ at: -added, isMatch: false }, ...list.rows.filter(({ at }) => at !== added)];
      return end;
    },
  };
  const { rows } = await searchPage(searched, { limit: 5 });
  assert.deepEqual(
    rows.map(({ at }) => at),
    [9999, 10_000],
  );
});

/**
 * Reads a list of the store from its beginning to its end.
 */
import type { Page, PageOptions } from '#store/page.ts';

/** Yields every row of a list, which is read page by page. */
export async function* everyRow<Row>(read: (page: PageOptions) => Promise<Page<Row>>): AsyncGenerator<Row> {
  for (let page = await read({ limit: 1000 }); ; page = await read({ limit: 1000, after: page.next })) {
    yield* page.rows;
    if (page.next === undefined) return;
  }
}

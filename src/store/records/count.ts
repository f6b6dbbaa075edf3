/**
 * Counting what a list shows.
 */
import type { ListFilter } from '#store/store.ts';

/**
 * How many a filter lets through. Live ones are few and have an index of their own; the others are what is left.
 * @param count counts by any filter that does not ask for the others
 */
export async function countOf(filter: ListFilter, count: (filter: ListFilter) => Promise<number>): Promise<number> {
  const { isActive, ...rest } = filter;
  if (isActive !== false) return count(filter);
  const [all, live] = [await count(rest), await count({ ...rest, isActive: true })];
  return Math.max(0, all - live);
}

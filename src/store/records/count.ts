/**
 * Counts the rows of a list.
 */
import type { ListFilter } from '#store/store.ts';

/**
 * Counts the rows that match a filter. Live rows are few and have an index of their own. The number of others is the difference.
 * @param count counts by a filter that does not ask for rows that are not live
 */
export async function countOf(filter: ListFilter, count: (filter: ListFilter) => Promise<number>): Promise<number> {
  const { isActive, ...rest } = filter;
  if (isActive !== false) return count(filter);
  const [all, live] = [await count(rest), await count({ ...rest, isActive: true })];
  return Math.max(0, all - live);
}

/**
 * Counts the rows of a list.
 */
import type { ListFilter } from '#store/store.ts';

/**
 * Counts the rows that match a filter. Rows that are not live have no index of their own, so their number is that of all rows minus that of
 * the live ones.
 * @param count counts by a filter in which `isActive` is true or absent
 */
export async function countOf(filter: ListFilter, count: (filter: ListFilter) => Promise<number>): Promise<number> {
  const { isActive, ...rest } = filter;
  if (isActive !== false) return count(filter);
  const [all, live] = [await count(rest), await count({ ...rest, isActive: true })];
  return Math.max(0, all - live);
}

/**
 * Reads the query parameters of a list.
 */
import { isUuid, type StreamId } from '#domain/ids.ts';
import { LIST_ORDERS, type ListFilter, type ListOptions, type PageOptions } from '#store/store.ts';
import { decodeCursor } from './cursor.ts';
import { type ListKind, parseFilters } from './list-filters.ts';
import { type RawQuery, readFlag, readInteger, readText, refused } from './query.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** The values of `order` as clients write them, such as `createdAt-true`, where true means descending. */
const ORDERS = LIST_ORDERS.flatMap((order) => [
  { text: `${order}-true`, order, direction: 'desc' as const },
  { text: `${order}-false`, order, direction: 'asc' as const },
]);

/**
 * Reads which page is wanted.
 * @param list see {@link decodeCursor}
 */
export function readPage(query: RawQuery, list: string): PageOptions {
  const cursor = readText(query, 'cursor');
  return {
    limit: readInteger(query, 'limit', { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT,
    after: cursor === undefined ? undefined : decodeCursor(list, cursor),
  };
}

/**
 * Reads which streams or sessions are wanted, in which order, and which page of them.
 * @param preset filters that the route itself sets
 * @returns also `list`, the name of the list for the next cursor
 */
export function readListOptions(
  query: RawQuery,
  kind: ListKind,
  preset: ListFilter = {},
): ListOptions & { readonly list: string } {
  const { order, direction } = readOrder(query);
  const list = `${kind}-${order}-${direction}`;
  const filters = readText(query, 'filters');
  const known: ListFilter = {
    ...(readFlag(query, 'active') && { isActive: true }),
    ...readSessionFilter(query, kind),
    ...preset,
  };
  return {
    ...readPage(query, list),
    list,
    order,
    direction,
    filter: filters === undefined ? known : parseFilters(filters, kind, order, known),
  };
}

/** Reads the filters that only sessions have. */
function readSessionFilter(query: RawQuery, kind: ListKind): ListFilter {
  const parentId = readText(query, 'parentId');
  const record = readFlag(query, 'record');
  if (kind === 'stream') {
    const misplaced = parentId !== undefined ? 'parentId' : record !== undefined ? 'record' : undefined;
    if (misplaced !== undefined) throw refused(misplaced, 'applies to sessions only; add sessionsonly=1');
    return {};
  }
  if (parentId !== undefined && !isUuid(parentId)) throw refused('parentId', 'must be the id of a stream');
  return {
    ...(parentId !== undefined && { parentId: parentId as StreamId }),
    ...(record !== undefined && { record }),
  };
}

function readOrder(query: RawQuery) {
  const text = readText(query, 'order') ?? 'createdAt-true';
  const order = ORDERS.find((each) => each.text === text);
  if (order) return order;
  const known = ORDERS.map((each) => each.text).join(', ');
  throw refused('order', `must be one of ${known}; true means the newest first`);
}

/**
 * What a query asks of a list.
 */
import { isUuid, type StreamId } from '#domain/ids.ts';
import { LIST_ORDERS, type ListFilter, type ListOptions, type PageOptions } from '#store/store.ts';
import { decodeCursor } from './cursor.ts';
import { type ListKind, parseFilters } from './list-filters.ts';
import { type RawQuery, readFlag, readInteger, readText, refused } from './query.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** As clients write them: `createdAt-true` and the like, true = descending. */
const ORDERS = LIST_ORDERS.flatMap((order) => [
  { text: `${order}-true`, order, direction: 'desc' as const },
  { text: `${order}-false`, order, direction: 'asc' as const },
]);

/**
 * Which page is asked for.
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
 * Which streams or sessions are asked for, in which order, and which page of them.
 * @param preset what the route itself filters by
 * @returns with `list`, the name to make the next cursor with
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

/** What only sessions can be filtered by. */
function readSessionFilter(query: RawQuery, kind: ListKind): ListFilter {
  const parentId = readText(query, 'parentId');
  const record = readFlag(query, 'record');
  if (kind === 'stream') {
    const misplaced = parentId !== undefined ? 'parentId' : record !== undefined ? 'record' : undefined;
    if (misplaced !== undefined) throw refused(misplaced, 'is of sessions only; add sessionsonly=1');
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

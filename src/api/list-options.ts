/**
 * Reads the query parameters of a list.
 */
import { isUuid, type StreamId } from '#domain/ids.ts';
import { ASSET_ORDERS, type AssetFilter, type AssetListOptions } from '#store/asset-store.ts';
import type { PageOptions } from '#store/page.ts';
import { LIST_ORDERS, type ListFilter, type ListOptions } from '#store/store.ts';
import { decodeCursor } from './cursor.ts';
import { type AnyFilter, type ListKind, parseFilters } from './list-filters.ts';
import { type RawQuery, readFlag, readInteger, readText, refused } from './query.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** The values of `order` as clients write them, such as `createdAt-true`, where true means descending. */
const ordersBy = <Order extends string>(orders: readonly Order[]) =>
  orders.flatMap((order) => [
    { text: `${order}-true`, order, direction: 'desc' as const },
    { text: `${order}-false`, order, direction: 'asc' as const },
  ]);
const ORDERS = ordersBy(LIST_ORDERS);
const ORDERS_OF_ASSETS = ordersBy(ASSET_ORDERS);

/** Query parameters that choose and order the rows of a list. Only some lists have them. */
const CHOICES = ['filters', 'order', 'count'] as const;

/**
 * Reads which page is wanted.
 * @param list see {@link decodeCursor}
 * @param has those of {@link CHOICES} that the list has
 * @throws {MillraceError} `invalid_request` for another one: clients would take the whole list for what they chose
 */
export function readPage(query: RawQuery, list: string, has: readonly (typeof CHOICES)[number][] = []): PageOptions {
  const other = CHOICES.find((name) => Object.hasOwn(query, name) && !has.includes(name));
  if (other !== undefined) throw refused(other, 'is not supported by this list; leave it out');
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
  kind: Exclude<ListKind, 'asset'>,
  preset: ListFilter = {},
): ListOptions & { readonly list: string } {
  const { order, direction } = readOrder(query, ORDERS);
  const list = `${kind}-${order}-${direction}`;
  const filters = readText(query, 'filters');
  const known: ListFilter = {
    ...(readFlag(query, 'active') && { isActive: true }),
    ...readSessionFilter(query, kind),
    ...preset,
  };
  return {
    ...readPage(query, list, CHOICES),
    list,
    order,
    direction,
    filter: filters === undefined ? known : parseFilters(filters, kind, order, known),
  };
}

/**
 * Reads which assets are wanted, in which order, and which page of them.
 * @param preset filters that the route itself sets
 * @returns also `list`, the name of the list for the next cursor
 */
export function readAssetListOptions(
  query: RawQuery,
  preset: AssetFilter = {},
): AssetListOptions & { readonly list: string } {
  const { order, direction } = readOrder(query, ORDERS_OF_ASSETS);
  const list = `asset-${order}-${direction}`;
  const entries = ['playbackId', 'phase'].flatMap((id) => {
    const value = readText(query, id);
    return value === undefined ? [] : [{ id, value }];
  });
  const known = parseFilters(JSON.stringify(entries), 'asset', order, preset as AnyFilter);
  const filters = readText(query, 'filters');
  const filter = filters === undefined ? known : parseFilters(filters, 'asset', order, known);
  return { ...readPage(query, list, CHOICES), list, order, direction, filter: filter as AssetFilter };
}

/** Reads the filters that only sessions have. */
function readSessionFilter(query: RawQuery, kind: Exclude<ListKind, 'asset'>): ListFilter {
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

function readOrder<Order extends { readonly text: string }>(query: RawQuery, orders: readonly Order[]): Order {
  const text = readText(query, 'order') ?? 'createdAt-true';
  const order = orders.find((each) => each.text === text);
  if (order) return order;
  const known = orders.map((each) => each.text).join(', ');
  throw refused('order', `must be one of ${known}; true means the newest first`);
}

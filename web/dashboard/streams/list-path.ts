/**
 * Builds the request to the API for a search among streams.
 */

/** The filters that are offered. */
export const STREAM_FILTERS = [
  ['all', 'All'],
  ['live', 'Live'],
  ['offline', 'Offline'],
] as const;

const PAGE = 50;

/** The path of the list. @param name a part of the name; empty for every name */
export function listPath(name: string, filter: string, limit = PAGE): string {
  const filters: { id: string; value: unknown }[] = [];
  if (name !== '') filters.push({ id: 'name', value: name });
  if (filter === 'live' || filter === 'offline') filters.push({ id: 'isActive', value: filter === 'live' });
  const query = new URLSearchParams({ limit: String(limit) });
  if (filters.length > 0) query.set('filters', JSON.stringify(filters));
  return `/stream?${query}`;
}

/** The path of the list of live streams, with as many as one answer may have. */
export const LIVE_STREAMS = listPath('', 'live', 1000);

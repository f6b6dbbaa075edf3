/**
 * The `filters` of a list: a JSON list of `{"id": <field>, "value": <value>}`.
 */
import { isPlaybackId, isUuid, type StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { ListFilter, ListOrder } from '#store/store.ts';
import { refused } from './query.ts';
import { isStorable } from './schemas/text.ts';

/** The lists that can be filtered. */
export type ListKind = 'stream' | 'session';

/** The fields by which each list can be filtered. */
export const FILTER_FIELDS = {
  stream: ['id', 'name', 'playbackId', 'isActive', 'creatorId', 'createdAt', 'lastSeen'],
  session: ['id', 'name', 'playbackId', 'isActive', 'parentId', 'record', 'createdAt', 'lastSeen'],
} as const satisfies Record<ListKind, readonly string[]>;

type Field = (typeof FILTER_FIELDS)[ListKind][number];

/** A filter under construction. */
type Draft = { -readonly [Key in keyof ListFilter]: ListFilter[Key] };

const MAX_FILTERS = 20;
const MAX_TEXT_LENGTH = 512;
/**
 * For each comparison in a query: the bound of the filter that it sets, and the offset from the given time to the first time that matches.
 */
const BOUNDS = { gt: ['from', 1], gte: ['from', 0], lt: ['to', -1], lte: ['to', 0] } as const;

/**
 * @param preset filters that other query parameters set, such as `active=true`
 * @throws {MillraceError} `invalid_request`, with a sentence that repeats no value
 */
export function parseFilters(text: string, kind: ListKind, order: ListOrder, preset: ListFilter): ListFilter {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    throw wrong('is not valid JSON');
  }
  if (!Array.isArray(entries)) throw wrong('must be a list');
  if (entries.length > MAX_FILTERS) throw wrong(`must have at most ${MAX_FILTERS} entries`);
  const filter: Draft = { ...preset };
  for (const entry of entries as readonly unknown[]) {
    const { id, value } = (typeof entry === 'object' && entry !== null ? entry : {}) as {
      id?: unknown;
      value?: unknown;
    };
    const field = (FILTER_FIELDS[kind] as readonly Field[]).find((each) => each === id);
    if (field === undefined) {
      throw wrong(`must have in each id a field that can be filtered by: ${FILTER_FIELDS[kind].join(', ')}`);
    }
    if (value === undefined) throw wrong(`has no value for ${field}`);
    if (field === 'createdAt' || field === 'lastSeen') addBounds(filter, field, order, value);
    else if (filter[field] !== undefined) throw wrong(`has ${field}, which this request gives twice; give it once`);
    else addValue(filter, field, value);
  }
  return filter;
}

function addValue(filter: Draft, field: Exclude<Field, ListOrder>, value: unknown): void {
  const is = <Value>(test: (text: string) => boolean, what: string): Value => {
    if (typeof value === 'string' && test(value)) return value as Value;
    throw wrong(`needs ${what} as the value of ${field}`);
  };
  const flag = (): boolean => {
    if (typeof value === 'boolean') return value;
    throw wrong(`needs true or false, without quotes, as the value of ${field}`);
  };
  switch (field) {
    case 'id':
      filter.id = is(isUuid, 'a UUID in lower case');
      break;
    case 'name':
      filter.name = is(
        (text) => text.length > 0 && text.length <= MAX_TEXT_LENGTH && isStorable(text),
        'part of a name',
      );
      break;
    case 'parentId':
      filter.parentId = is<StreamId>(isUuid, 'a UUID in lower case');
      break;
    case 'playbackId':
      filter.playbackId = is(isPlaybackId, 'a playback id');
      break;
    case 'creatorId':
      filter.creatorId = is((text) => text.length <= MAX_TEXT_LENGTH && isStorable(text), 'text as in creatorId.value');
      break;
    case 'isActive':
    case 'record':
      filter[field] = flag();
      break;
  }
}

function addBounds(filter: Draft, field: ListOrder, order: ListOrder, value: unknown): void {
  if (field !== order) {
    throw wrong(`has ${field}, but the list is ordered by ${order}; add order=${field}-true to filter by it`);
  }
  const bounds = typeof value === 'number' ? { gte: value, lte: value } : value;
  if (typeof bounds !== 'object' || bounds === null || Array.isArray(bounds) || Object.keys(bounds).length === 0) {
    throw wrong(`needs a time or an object of gt, gte, lt and lte as the value of ${field}`);
  }
  for (const [name, time] of Object.entries(bounds) as [string, unknown][]) {
    if (!Object.hasOwn(BOUNDS, name)) throw wrong(`compares ${field} in an unknown way; use gt, gte, lt or lte`);
    if (typeof time !== 'number' || !Number.isSafeInteger(time)) {
      throw wrong(`needs milliseconds since the epoch, a whole number, as the bounds of ${field}`);
    }
    const [bound, distance] = BOUNDS[name as keyof typeof BOUNDS];
    const narrower = bound === 'from' ? Math.max : Math.min;
    filter[bound] = ms(narrower(time + distance, filter[bound] ?? time + distance));
  }
}

const wrong = (problem: string) => refused('filters', problem);

/**
 * The `filters` of a list: a JSON list of `{"id": <field>, "value": <value>}`.
 */
import { isPlaybackId, isUuid, type SessionId, type StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { AssetFilter, AssetOrder } from '#store/asset-store.ts';
import type { ListFilter, ListOrder } from '#store/store.ts';
import { phaseOfApi } from './present-asset.ts';
import { refused } from './query.ts';
import { API_ASSET_PHASES, ASSET_SOURCE_TYPES } from './schemas/asset.ts';
import { isStorable } from './schemas/text.ts';

/** The lists that can be filtered. */
export type ListKind = 'stream' | 'session' | 'asset';

/** The fields by which each list can be filtered. */
export const FILTER_FIELDS = {
  stream: ['id', 'name', 'playbackId', 'isActive', 'creatorId', 'createdAt', 'lastSeen'],
  session: ['id', 'name', 'playbackId', 'isActive', 'parentId', 'record', 'createdAt', 'lastSeen'],
  asset: [
    'id',
    'name',
    'playbackId',
    'creatorId',
    'phase',
    'sourceType',
    'sourceSessionId',
    'sourceAssetId',
    'sourcePlaybackId',
    'createdAt',
    'updatedAt',
  ],
} as const satisfies Record<ListKind, readonly string[]>;

type Field = (typeof FILTER_FIELDS)[ListKind][number];

/** The conditions of all lists. The fields that a list does not know are absent. */
export type AnyFilter = ListFilter & Omit<AssetFilter, 'id'>;

/** A time that a list can be ordered by. */
export type AnyOrder = ListOrder | AssetOrder;

/** A filter under construction. */
type Draft = { -readonly [Key in keyof AnyFilter]: AnyFilter[Key] };

const TIMES: readonly string[] = ['createdAt', 'lastSeen', 'updatedAt'] satisfies readonly AnyOrder[];

const UUID = 'a UUID in lower case';
const MAX_FILTERS = 20;
const MAX_TEXT_LENGTH = 512;
/**
 * For each comparison in a query: the bound of the filter that it sets, and the offset from the given time to the first time that matches.
 */
const BOUNDS = { gt: ['from', 1], gte: ['from', 0], lt: ['to', -1], lte: ['to', 0] } as const;

/**
 * Reads the text of `filters`.
 * @param preset filters that the route or other query parameters set, such as `active=true`; repeating them is no error
 * @throws {MillraceError} `invalid_request`, with a sentence that repeats no value
 */
export function parseFilters(text: string, kind: ListKind, order: AnyOrder, preset: AnyFilter): AnyFilter {
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
    if (isTime(field)) addBounds(filter, field, order, value);
    else addValue(filter, field, value);
  }
  return filter;
}

const isTime = (field: Field): field is AnyOrder => TIMES.includes(field);

function addValue(filter: Draft, field: Exclude<Field, AnyOrder>, value: unknown): void {
  const set = <Key extends keyof Draft>(key: Key, condition: Draft[Key]): void => {
    if (filter[key] !== undefined && filter[key] !== condition) {
      throw wrong(`has for ${field} another value than this request has elsewhere, or than this list is limited to`);
    }
    filter[key] = condition;
  };
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
      set('id', is(isUuid, UUID));
      break;
    case 'name': {
      const isPart = (text: string) => text.length > 0 && text.length <= MAX_TEXT_LENGTH && isStorable(text);
      set('name', is(isPart, 'part of a name'));
      break;
    }
    case 'parentId':
      set('parentId', is<StreamId>(isUuid, UUID));
      break;
    case 'playbackId':
      set('playbackId', is(isPlaybackId, 'a playback id'));
      break;
    case 'creatorId': {
      const isCreator = (text: string) => text.length <= MAX_TEXT_LENGTH && isStorable(text);
      set('creatorId', is(isCreator, 'text as in creatorId.value'));
      break;
    }
    case 'isActive':
    case 'record':
      set(field, flag());
      break;
    case 'phase': {
      const phase = phaseOfApi(value);
      if (phase === undefined) throw wrong(`needs one of ${API_ASSET_PHASES.join(', ')} as the value of phase`);
      set('phase', phase);
      break;
    }
    case 'sourceType': {
      const kind = ASSET_SOURCE_TYPES.find((each) => each === value);
      if (kind === undefined) throw wrong(`needs one of ${ASSET_SOURCE_TYPES.join(', ')} as the value of sourceType`);
      set('kind', kind);
      break;
    }
    case 'sourceSessionId':
      set('sessionId', is<SessionId>(isUuid, UUID));
      break;
    case 'sourceAssetId':
      // A recording has the id of its session.
      set('sessionId', is<SessionId>(isUuid, UUID));
      if (filter.kind !== 'clip') set('kind', 'clip');
      break;
    case 'sourcePlaybackId':
      set('clippedFrom', is(isPlaybackId, 'a playback id'));
      break;
  }
}

function addBounds(filter: Draft, field: AnyOrder, order: AnyOrder, value: unknown): void {
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

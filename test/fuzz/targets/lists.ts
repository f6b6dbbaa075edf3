/**
 * The queries of lists: filters, cursors, and queries as a whole.
 */
import assert from 'node:assert/strict';
import { parse } from 'node:querystring';
import { decodeCursor, encodeCursor } from '#api/cursor.ts';
import { parseFilters } from '#api/list-filters.ts';
import { readAssetListOptions, readListOptions } from '#api/list-options.ts';
import { MillraceError } from '#domain/errors.ts';
import { ms } from '#lib/units.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const ID = '66e2161c-7670-4d05-b71d-da2d6979556f';
const TIME = 1_795_175_107_399;
const CURSOR = encodeCursor('stream-createdAt-desc', { at: ms(TIME), id: ID });
const FILTERS: readonly string[] = [
  `[{"id":"id","value":"${ID}"}]`,
  `[{"id":"createdAt","value":{"gte":${TIME},"lt":${TIME + 1}}},{"id":"isActive","value":true}]`,
  '[{"id":"playbackId","value":"0123456789abcdef"},{"id":"creatorId","value":"customer-17"}]',
  '[]',
  `[{"id":"sourceAssetId","value":"${ID}"},{"id":"phase","value":"ready"}]`,
];

const texts = (list: readonly string[]): readonly Buffer[] => list.map((text) => Buffer.from(text));

/** The parameter `filters`. */
export const filtersTarget: Target = {
  name: 'list-filters',
  corpus: texts(FILTERS),
  dictionary: [
    '{"id":',
    '"value":',
    '"createdAt"',
    '"lastSeen"',
    '{"gt":',
    '"__proto__":',
    'null',
    '1e999',
    '\\ud800',
    '[[[',
  ],
  maxBytes: 4096,
  expected: [MillraceError],
  open: () => ({
    read(input) {
      const filter = parseFilters(input.toString(), 'stream', 'createdAt', {});
      for (const bound of [filter.from ?? 0, filter.to ?? 0])
        must(Number.isInteger(bound), () => `a bound of ${bound}`);
      return behaviour(Object.keys(filter).length, ...Object.keys(filter).map((key) => key.charCodeAt(0)));
    },
  }),
};

/** The parameter `cursor`: only cursors that the server itself made are accepted. */
export const cursorTarget: Target = {
  name: 'cursor',
  corpus: texts([CURSOR, encodeCursor('session-lastSeen-asc', { at: ms(0), id: ID })]),
  dictionary: ['=', 'c3RyZWFt', '.', '%'],
  maxBytes: 1024,
  expected: [MillraceError],
  open: () => ({
    read(input) {
      const text = input.toString();
      const key = decodeCursor('stream-createdAt-desc', text);
      assert.equal(encodeCursor('stream-createdAt-desc', key), text, 'a cursor that the server would not make');
      must(Number.isSafeInteger(key.at) && key.at >= 0, () => `a time of ${key.at}`);
      return behaviour(magnitude(key.at), key.id.length);
    },
  }),
};

/** The whole query of a list. The first byte of an input says whether streams, sessions or assets are listed. */
export const listQueryTarget: Target = {
  name: 'list-query',
  corpus: texts([
    `0limit=20&cursor=${CURSOR}`,
    `0order=lastSeen-false&active=1&filters=${encodeURIComponent(FILTERS[0]!)}`,
    `1parentId=${ID}&record=0&limit=1000`,
    `1filters=${encodeURIComponent(FILTERS[1]!)}`,
    `2phase=ready&order=updatedAt-true&filters=${encodeURIComponent(FILTERS[4]!)}`,
  ]),
  dictionary: [
    'limit=',
    'cursor=',
    'order=',
    'filters=',
    'active=',
    'record=',
    '&',
    '%00',
    '__proto__=',
    'lastSeen-true',
    'updatedAt-true',
    'phase=ready',
  ],
  maxBytes: 4096,
  expected: [MillraceError],
  open: () => ({
    read(input) {
      const kind = (['stream', 'session', 'asset'] as const)[(input[0] ?? 0) % 3]!;
      const query = parse(input.toString('latin1', 1));
      const { limit, after, order, direction, filter } =
        kind === 'asset' ? readAssetListOptions(query) : readListOptions(query, kind);
      must(Number.isInteger(limit) && limit >= 1 && limit <= 1000, () => `a page of ${limit}`);
      return behaviour(magnitude(limit), after ? 1 : 0, order.length, direction.length, Object.keys(filter).length);
    },
  }),
};

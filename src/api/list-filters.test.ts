import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ListFilter } from '#store/store.ts';
import { parseFilters } from './list-filters.ts';

const ID = '66e2161c-7670-4d05-b71d-da2d6979556f';

const streamFilter = (filters: unknown, preset: ListFilter = {}) =>
  parseFilters(JSON.stringify(filters), 'stream', 'createdAt', preset);

test('each field accepts a value of its type', () => {
  assert.deepEqual(
    streamFilter([
      { id: 'id', value: ID },
      { id: 'name', value: '100% [a_b]' },
      { id: 'playbackId', value: '5v8c2hq0jn6t1wkz' },
      { id: 'isActive', value: true },
      { id: 'creatorId', value: 'Müller & Söhne' },
    ]),
    { id: ID, name: '100% [a_b]', playbackId: '5v8c2hq0jn6t1wkz', isActive: true, creatorId: 'Müller & Söhne' },
  );
  const sessions = JSON.stringify([
    { id: 'parentId', value: ID },
    { id: 'record', value: false },
  ]);
  assert.deepEqual(parseFilters(sessions, 'session', 'createdAt', {}), { parentId: ID, record: false });
  assert.deepEqual(streamFilter([]), {});
});

test('bounds of the time that orders the list become inclusive integers, and the narrowest bound wins', () => {
  const bounded = (value: unknown) => streamFilter([{ id: 'createdAt', value }]);
  assert.deepEqual(bounded({ gt: 5, lt: 9 }), { from: 6, to: 8 });
  assert.deepEqual(bounded({ gte: 5, lte: 9 }), { from: 5, to: 9 });
  assert.deepEqual(bounded(7), { from: 7, to: 7 });
  assert.deepEqual(bounded({ gt: 5, gte: 5, lt: 9, lte: 9 }), { from: 6, to: 8 });
  assert.deepEqual(
    streamFilter([
      { id: 'createdAt', value: { gte: 1 } },
      { id: 'createdAt', value: { gte: 3, lt: 9 } },
    ]),
    { from: 3, to: 8 },
  );
  const bySeen = parseFilters('[{"id":"lastSeen","value":{"gt":0}}]', 'session', 'lastSeen', {});
  assert.deepEqual(bySeen, { from: 1 });
});

test('filters of the route and of other query parameters are kept, and may be repeated but not contradicted', () => {
  assert.deepEqual(streamFilter([{ id: 'id', value: ID }], { isActive: true }), { isActive: true, id: ID });
  assert.deepEqual(streamFilter([{ id: 'isActive', value: true }], { isActive: true }), { isActive: true });
  assert.throws(() => streamFilter([{ id: 'isActive', value: false }], { isActive: true }), /isActive another value/);
});

/** Filters that are refused, with what the error text must match. */
const WRONG: readonly (readonly [filters: unknown, text: RegExp])[] = [
  [{}, /must be a list/],
  [null, /must be a list/],
  [Array(21).fill({ id: 'id', value: ID }), /at most 20/],
  [[null], /can be filtered by/],
  [['id'], /can be filtered by/],
  [
    [{ id: 'suspended', value: true }],
    /can be filtered by: id, name, playbackId, isActive, creatorId, createdAt, lastSeen/,
  ],
  [[{ id: '__proto__', value: 'x' }], /can be filtered by/],
  [[{ id: 'parentId', value: ID }], /can be filtered by/],
  [[{ id: 'id' }], /no value for id/],
  [[{ id: 'name', value: '' }], /part of a name/],
  [[{ id: 'name', value: 'x'.repeat(513) }], /part of a name/],
  [[{ id: 'name', value: 7 }], /part of a name/],
  [[{ id: 'id', value: 7 }], /a UUID/],
  [[{ id: 'id', value: ID.toUpperCase() }], /a UUID/],
  [[{ id: 'playbackId', value: 'x' }], /a playback id/],
  [[{ id: 'isActive', value: 'true' }], /true or false, without quotes/],
  [[{ id: 'creatorId', value: { type: 'unverified', value: 'x' } }], /text as in creatorId/],
  [[{ id: 'creatorId', value: 'a\0b' }], /text as in creatorId/],
  [[{ id: 'creatorId', value: '\ud800' }], /text as in creatorId/],
  [[{ id: 'lastSeen', value: 1 }], /ordered by createdAt; add order=lastSeen-true/],
  [[{ id: 'createdAt', value: {} }], /gt, gte, lt and lte/],
  [[{ id: 'createdAt', value: [1] }], /gt, gte, lt and lte/],
  [[{ id: 'createdAt', value: null }], /gt, gte, lt and lte/],
  [[{ id: 'createdAt', value: { eq: 1 } }], /use gt, gte, lt or lte/],
  [[{ id: 'createdAt', value: { constructor: 1 } }], /use gt, gte, lt or lte/],
  [[{ id: 'createdAt', value: { gt: '1' } }], /whole number/],
  [[{ id: 'createdAt', value: { gt: 1.5 } }], /whole number/],
];

test('everything else is refused with a sentence that names what is allowed', () => {
  for (const [filters, text] of WRONG) {
    assert.throws(
      () => streamFilter(filters),
      { code: 'invalid_request', message: text },
      JSON.stringify(filters)?.slice(0, 80),
    );
  }
  assert.throws(() => parseFilters('[{', 'stream', 'createdAt', {}), { message: /not valid JSON/ });
});

test('any input gives a filter of known fields or an error that repeats no value', () => {
  const secret = 'millrace_Zm9vYmFy';
  const entry = fc.record({
    id: fc.oneof(fc.constantFrom('id', 'createdAt', 'isActive', 'creatorId'), fc.constant(secret)),
    value: fc.oneof(
      fc.jsonValue(),
      fc.constant(secret),
      fc.dictionary(fc.constantFrom('gt', 'lt', secret), fc.jsonValue()),
    ),
  });
  const known = new Set(['id', 'playbackId', 'isActive', 'creatorId', 'from', 'to']);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), (filters) => {
      try {
        assert.ok(Object.keys(streamFilter(filters)).every((field) => known.has(field)));
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'invalid_request');
        assert.ok(!(error as Error).message.includes(secret));
      }
    }),
  );
});

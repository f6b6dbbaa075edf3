import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIVE_STREAMS, listPath } from './list-path.ts';
import { liveWords } from './live-words.ts';

const filtersOf = (path: string) => new URL(path, 'http://x').searchParams.get('filters');

test('a search asks for a part of the name and the state, whatever is typed', () => {
  assert.equal(filtersOf(listPath('', 'all')), null);
  assert.deepEqual(JSON.parse(filtersOf(listPath('a&b="', 'live'))!), [
    { id: 'name', value: 'a&b="' },
    { id: 'isActive', value: true },
  ]);
  assert.deepEqual(JSON.parse(filtersOf(listPath('', 'offline'))!), [{ id: 'isActive', value: false }]);
});

test('those that are live among many streams are asked for together, counted and named', () => {
  assert.equal(LIVE_STREAMS.replace(/&.*/, ''), '/stream?limit=1000');
  assert.equal(filtersOf(LIVE_STREAMS), '[{"id":"isActive","value":true}]');
  assert.equal(liveWords([], true), 'None of them is live.');
  assert.equal(liveWords(['a'], true), '1 of them is live now: a.');
  assert.equal(liveWords(['a', 'b', 'c', 'd', 'e'], true), '5 of them are live now: a, b, c and 2 more.');
  // There are more live streams than were read.
  assert.equal(liveWords([], false), 'Some of them may be live.');
  assert.equal(liveWords(['a', 'b'], false), 'At least 2 of them are live now: a, b.');
});

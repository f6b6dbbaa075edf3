import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

test('the entry that was set longest ago is forgotten for a new one', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  );
});

test('an entry that is set again displaces no other', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('b', 3);
  assert.deepEqual([map.get('a'), map.get('b'), map.size], [1, 3, 2]);
});

test('an entry that was deleted and is set again displaces the oldest one', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2);
  map.delete('b');
  map.set('c', 3).set('d', 4);
  assert.deepEqual([...map.keys()], ['c', 'd']);
  map.delete('d');
  map.set('d', 5).set('d', 6).set('e', 7);
  assert.deepEqual([...map.keys()], ['d', 'e']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listPath } from './list-path.ts';

const filtersOf = (path: string) => new URL(path, 'http://x').searchParams.get('filters');

test('a search asks for a part of the name and the state, whatever is typed', () => {
  assert.equal(filtersOf(listPath('', 'all')), null);
  assert.deepEqual(JSON.parse(filtersOf(listPath('a&b="', 'live'))!), [
    { id: 'name', value: 'a&b="' },
    { id: 'isActive', value: true },
  ]);
  assert.deepEqual(JSON.parse(filtersOf(listPath('', 'offline'))!), [{ id: 'isActive', value: false }]);
});

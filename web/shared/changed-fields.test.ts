import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedFields } from './changed-fields.ts';

test('a form sends the fields that were changed in it, and all of something new', () => {
  const before = { id: '1', name: 'a', events: ['x'], record: false };
  assert.deepEqual(changedFields(before, { ...before, name: 'b', events: ['x'] }), { name: 'b' });
  assert.deepEqual(changedFields(before, { ...before, events: [] }), { events: [] });
  assert.deepEqual(changedFields(before, { ...before }), {});
  assert.deepEqual(changedFields(undefined, { name: 'a', events: [] }), { name: 'a', events: [] });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionList } from './session-list.ts';

test('live sessions take no places in the list of those that are not live', () => {
  const { pathname, searchParams } = new URL(sessionList(false, 50), 'http://x');
  assert.equal(pathname, '/session');
  assert.deepEqual(Object.fromEntries(searchParams), {
    limit: '50',
    order: 'lastSeen-true',
    filters: '[{"id":"isActive","value":false}]',
  });
});

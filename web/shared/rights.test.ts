import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAllowed } from './rights.ts';

test('rules allow what they name, as those of the API do', () => {
  const rules = [{ resources: ['stream', '/stream/:id'], methods: ['get'] }, { resources: ['webhook/*'] }];
  assert.ok(isAllowed(undefined, 'DELETE', '/stream/x'));
  assert.ok(isAllowed(rules, 'GET', '/stream/x'));
  assert.ok(isAllowed(rules, 'POST', '/webhook/x/log'));
  assert.equal(isAllowed(rules, 'DELETE', '/stream/x'), false);
  assert.equal(isAllowed(rules, 'GET', '/stream/x/sessions'), false);
  assert.equal(isAllowed(rules, 'GET', '/webhook'), false);
  assert.equal(isAllowed([], 'GET', '/stream'), false);
});

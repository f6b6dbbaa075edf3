import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QUOTA_NAMES, type Quotas, quotasOf } from './quotas.ts';

const DEFAULTS = Object.fromEntries(QUOTA_NAMES.map((name) => [name, 7])) as Quotas;

test('a user has the default quotas, except for those that an admin gave it', () => {
  assert.deepEqual(quotasOf({ isAdmin: false, quotas: {} }, DEFAULTS), DEFAULTS);
  assert.deepEqual(quotasOf({ isAdmin: false, quotas: { streams: 0, viewers: 3 } }, DEFAULTS), {
    ...DEFAULTS,
    streams: 0,
    viewers: 3,
  });
});

test('an admin has no quotas, except for those that it was given', () => {
  const { publishers, ...others } = quotasOf({ isAdmin: true, quotas: { publishers: 2 } }, DEFAULTS);
  assert.equal(publishers, 2);
  assert.deepEqual(new Set(Object.values(others)), new Set([0]));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepTick } from './heap.ts';

test('what is kept for the whole run is an object that process.nextTick makes, the same at each call', async () => {
  const kept = await keepTick();
  // Any other resource has no callback of its own.
  assert.equal(typeof (kept as { readonly callback?: unknown }).callback, 'function');
  assert.equal(await keepTick(), kept);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMediaMemory } from './media-memory.ts';

test('a budget is taken up to its limit, given back, and taken again', () => {
  const memory = createMediaMemory(100);
  assert.deepEqual([memory.take(60), memory.take(41), memory.take(40), memory.usedBytes], [true, false, true, 100]);
  memory.give(60);
  assert.deepEqual([memory.take(61), memory.take(60), memory.usedBytes], [false, true, 100]);
});

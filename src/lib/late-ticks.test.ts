import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LateTicks } from './late-ticks.ts';

test('a tick is late after its process was held up, and the next one is not, even if the process is held up again', () => {
  const ticks = new LateTicks(100, 1000);
  assert.deepEqual(
    [1100, 1200, 1600, 4700, 7800, 10_900, 11_000].map((nowMs) => ticks.tick(nowMs)),
    [0, 0, 0, 3000, 0, 3000, 0],
  );
});

test('the first tick can be late', () => {
  assert.equal(new LateTicks(2000, 1000).tick(5000), 2000);
});

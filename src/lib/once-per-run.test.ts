import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oncePerRun } from './once-per-run.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what is read is the same until the running code has returned, and is read again after that', async () => {
  let reads = 0;
  const read = oncePerRun(() => {
    reads += 1;
    return reads;
  });
  assert.deepEqual([read(), read()], [1, 1]);
  await turn();
  assert.deepEqual([read(), read()], [2, 2]);
  process.nextTick(() => {
    reads = 10;
  });
  await turn();
  assert.equal(read(), 11);
});

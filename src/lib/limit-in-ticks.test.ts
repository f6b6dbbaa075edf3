import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { waitFor } from '#test/support/wait-for.ts';
import { afterRunning } from './limit-in-ticks.ts';

test('a timeout in ticks expires after its time, and only once', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    let passed = 0;
    afterRunning(1500, () => {
      passed += 1;
    });
    mock.timers.tick(1499);
    assert.equal(passed, 0);
    mock.timers.tick(1);
    assert.equal(passed, 1);
    mock.timers.tick(3000);
    assert.equal(passed, 1);
  } finally {
    mock.timers.reset();
  }
});

test('a timeout in ticks does not expire while its process stands still', async () => {
  let isPassed = false;
  afterRunning(1500, () => {
    isPassed = true;
  });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
  // Timers that are due run before this.
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(isPassed, false);
  await waitFor(() => isPassed, { what: 'the timeout' });
});

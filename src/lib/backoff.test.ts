import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Backoff } from './backoff.ts';

it('pauses double up to the limit and start again after a success', () => {
  const backoff = new Backoff({ firstMs: 50, maxMs: 300 });
  const pauses = () => Array.from({ length: 5 }, () => Number(backoff.failed()));
  assert.deepEqual(pauses(), [50, 100, 200, 300, 300]);
  backoff.succeeded();
  assert.deepEqual(pauses(), [50, 100, 200, 300, 300]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needingAttention } from './attention.ts';

test('a session whose encoder was lost needs attention, as does a live stream with issues', () => {
  const reconnecting = { phase: 'reconnecting' } as const;
  const sick = { isHealthy: false };
  assert.deepEqual(needingAttention([{ isHealthy: true }, sick], [{ phase: 'ended' }, reconnecting]), {
    lost: [reconnecting],
    sick: [sick],
    isAny: true,
  });
  assert.equal(needingAttention([], [reconnecting]).isAny, true);
  assert.equal(needingAttention([{ isHealthy: true }, { isHealthy: null }], [{ phase: 'ended' }]).isAny, false);
});

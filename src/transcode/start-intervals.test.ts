import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newStreamId, newUserId } from '#domain/ids.ts';
import { StartIntervals } from './start-intervals.ts';

it('forgets users and streams when their starts no longer delay others', () => {
  const starts = new StartIntervals();
  let most = 0;
  for (let now = 0; now < 1_000_000; now += 100) {
    assert.ok(starts.take({ streamId: newStreamId(), userId: newUserId(), atOnce: 4 }, now));
    most = Math.max(most, starts.size);
  }
  assert.ok(most <= 50 + 20 + 2, `${most} were remembered`);
});

it('a start that is refused does not delay the next one', () => {
  const starts = new StartIntervals();
  const userId = newUserId();
  const streamId = newStreamId();
  assert.ok(starts.take({ streamId, userId, atOnce: 1 }, 0));
  for (let now = 0; now < 2000; now += 10) assert.ok(!starts.take({ streamId: newStreamId(), userId, atOnce: 1 }, now));
  assert.ok(starts.take({ streamId: newStreamId(), userId, atOnce: 1 }, 2000));
  assert.ok(!starts.take({ streamId, userId, atOnce: 1 }, 4999));
  assert.ok(starts.take({ streamId, userId, atOnce: 1 }, 5000));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayRows, minutesWords, totalOf } from './sums.ts';

const sum = (change: object) => ({
  from: 0,
  ingestMinutes: 1,
  ingestBytes: 10,
  transcodedMinutes: 2,
  transcodedBytes: 20,
  deliveredBytes: 30,
  views: 4,
  watchedMinutes: 5,
  ...change,
});

test('entries are summed, together and by group', () => {
  const sums = [sum({ streamId: 'a' }), sum({ streamId: 'b' }), sum({ streamId: 'a', views: 6 })];
  assert.equal(totalOf(sums).views, 14);
  assert.equal(totalOf([]).ingestBytes, 0);
  assert.deepEqual(
    dayRows(sums, ({ streamId }) => streamId ?? '').map(({ streamId, views, deliveredBytes }) => [
      streamId,
      views,
      deliveredBytes,
    ]),
    [
      ['a', 10, 60],
      ['b', 4, 30],
    ],
  );
});

test('minutes become hours when there are many', () => {
  assert.deepEqual([0, 0.25, 61.5, 7311.2].map(minutesWords), ['0 min', '0.3 min', '62 min', '121.9 h']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS } from './sums.ts';
import { wholeSpan } from './whole-span.ts';

/** Answers as the API does: the oldest entries, at most 10,000, of streams that were used each day. */
const usageOf = (streams: number) => {
  let requests = 0;
  const ask = (from: number, to: number) => {
    requests += 1;
    const days = Array.from({ length: (to - from) / DAY_MS }, (_, day) => from / DAY_MS + day);
    return Promise.resolve(days.flatMap((day) => Array<number>(streams).fill(day)).slice(0, 10_000));
  };
  return { ask, requests: () => requests };
};

test('days beyond the longest answer are asked for apart, and none is missing or counted twice', async () => {
  const many = usageOf(300);
  const days = await wholeSpan(0, 90 * DAY_MS, many.ask);
  assert.deepEqual(
    Array.from({ length: 90 }, (_, day) => days.filter((each) => each === day).length),
    Array<number>(90).fill(300),
  );
  assert.deepEqual(
    days,
    days.toSorted((one, other) => one - other),
  );
  const few = usageOf(100);
  assert.equal((await wholeSpan(0, 90 * DAY_MS, few.ask)).length, 9000);
  assert.equal(few.requests(), 1);
  await assert.rejects(wholeSpan(0, 2 * DAY_MS, usageOf(20_000).ask), /GET \/data\/usage by hours/);
});

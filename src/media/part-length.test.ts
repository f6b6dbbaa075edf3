import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { framesPerPart, longestPartMs, PartPlan, plannedParts } from './part-length.ts';

/** The number of frames of each part. */
function sizesOf(frames: number, most: number): readonly number[] {
  const ends = [...plannedParts(frames, most), frames];
  return ends.map((end, index) => end - (ends[index - 1] ?? 0));
}

test('two seconds at 25 frames a second become seven parts of about the same length', () => {
  assert.deepEqual(sizesOf(50, 8), [7, 7, 7, 8, 7, 7, 7]);
});

test('a segment whose parts cannot be equally long has a last part that is as long as possible', () => {
  assert.deepEqual(sizesOf(25, 8), [7, 7, 7, 4]);
});

test('nothing is planned for a segment that fits into a part, or of which nothing is known', () => {
  assert.deepEqual(plannedParts(8, 8), []);
  assert.equal(new PartPlan().endOf(0), undefined);
});

test('a segment is expected to be as long as the longer one of the last two', () => {
  const plan = new PartPlan();
  const endsOf = (from: number): readonly number[] => {
    const end = plan.endOf(from);
    return end === undefined ? [] : [end, ...endsOf(end)];
  };
  plan.add(113, 16);
  plan.add(112, 16);
  assert.deepEqual(endsOf(0), [14, 28, 42, 57, 71, 85, 99]);
  plan.add(112, 16);
  assert.deepEqual(endsOf(0), [16, 32, 48, 64, 80, 96]);
});

test('a part that begins between two planned ends ends at the next of them', () => {
  const plan = new PartPlan();
  plan.add(50, 8);
  assert.equal(plan.endOf(6), 7);
  assert.equal(plan.endOf(7), 14);
});

test('planned parts are within the limits of PART-TARGET for any frame rate, and are no more than there would be full ones', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 120 }),
      fc.integer({ min: 0, max: 2000 }),
      fc.boolean(),
      (rate, frames, exact) => {
        const most = framesPerPart(rate);
        const targetS = (longestPartMs(most, { framesPerSecond: rate, exact }) + 2) / 1000;
        const sizes = sizesOf(frames, most);
        assert.ok(sizes.length <= Math.max(1, Math.ceil(frames / most)));
        assert.ok(sizes.at(-1)! <= most);
        for (const size of sizes.slice(0, -1)) {
          assert.ok(size <= most);
          assert.ok(size / rate >= 0.85 * targetS, `${size} frames in ${sizes.join(' ')}`);
        }
      },
    ),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameRhythm } from './frame-rhythm.ts';

function after(framesPerSecond: number, times: readonly number[]): FrameRhythm {
  const rhythm = new FrameRhythm(framesPerSecond);
  for (const atS of times) rhythm.saw(atS);
  return rhythm;
}

test('the declared rate counts until two frame intervals are known, and until then only a long wait is a pause', () => {
  for (const times of [[], [0], [0, 0.5]]) {
    const rhythm = after(30, times);
    assert.deepEqual([rhythm.stepS, rhythm.patienceS], [1 / 30, 2]);
  }
  const slow = after(30, [0, 0.5, 1]);
  assert.deepEqual([slow.stepS, slow.patienceS], [0.5, 0.75]);
});

test('the shortest interval counts, also after pauses, but not a single short one', () => {
  assert.equal(after(30, [0, 4, 8, 8.1, 8.2, 9, 14, 14.01]).stepS.toFixed(3), '0.100');
});

test('frames are repeated at most thirty times a second, and at least every two seconds', () => {
  assert.equal(after(30, [0, 1 / 60, 2 / 60]).stepS, 1 / 30);
  assert.equal(after(30, [0, 9, 18]).stepS, 2);
});

test('once frames were repeated, the interval does not grow', () => {
  const rhythm = after(30, [0]);
  rhythm.repeated();
  for (const atS of [5, 10, 15]) rhythm.saw(atS);
  assert.deepEqual([rhythm.stepS, rhythm.patienceS], [1 / 30, 0.05]);
});

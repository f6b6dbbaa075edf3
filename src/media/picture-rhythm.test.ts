import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PictureRhythm } from './picture-rhythm.ts';

function after(framesPerSecond: number, times: readonly number[]): PictureRhythm {
  const rhythm = new PictureRhythm(framesPerSecond);
  for (const atS of times) rhythm.saw(atS);
  return rhythm;
}

test('what is declared counts until two pictures have lasted their time, and a pause is a long one until then', () => {
  for (const times of [[], [0], [0, 0.5]]) {
    const rhythm = after(30, times);
    assert.deepEqual([rhythm.stepS, rhythm.patienceS], [1 / 30, 2]);
  }
  const slow = after(30, [0, 0.5, 1]);
  assert.deepEqual([slow.stepS, slow.patienceS], [0.5, 0.75]);
});

test('the fastest there was counts, also behind pauses, but no single picture', () => {
  assert.equal(after(30, [0, 4, 8, 8.1, 8.2, 9, 14, 14.01]).stepS.toFixed(3), '0.100');
});

test('nothing is repeated more often than thirty times a second, or less than every two', () => {
  assert.equal(after(30, [0, 1 / 60, 2 / 60]).stepS, 1 / 30);
  assert.equal(after(30, [0, 9, 18]).stepS, 2);
});

test('where pictures were repeated already, it gets no slower', () => {
  const rhythm = after(30, [0]);
  rhythm.repeated();
  for (const atS of [5, 10, 15]) rhythm.saw(atS);
  assert.deepEqual([rhythm.stepS, rhythm.patienceS], [1 / 30, 0.05]);
});

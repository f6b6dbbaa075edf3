import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { recogniseFrameRate } from './frame-rate.ts';
import { framesPerPart, longestPartMs, PART_LENGTH_S } from './part-length.ts';

const MS = 0.001;
const roundedSum = (frames: number, fps: number) => Math.round((frames * 1000) / fps) / 1000;

describe('a frame rate', () => {
  for (const fps of [1, 10, 15, 24, 25, 30, 50, 60, 120]) {
    test(`of ${fps} is recognised from timestamps in milliseconds`, () => {
      const frames = framesPerPart(fps);
      const rate = recogniseFrameRate(frames, roundedSum(frames, fps), MS, undefined);
      assert.deepEqual(rate, { framesPerSecond: fps, exact: true });
    });
  }

  for (const fps of [24_000 / 1001, 30_000 / 1001, 60_000 / 1001]) {
    test(`of ${fps.toFixed(3)} is recognised from exact timestamps, and from rounded ones when it is declared`, () => {
      const frames = framesPerPart(fps);
      assert.equal(recogniseFrameRate(frames, frames / fps, 1 / 90_000, undefined).framesPerSecond, fps);
      const declared = Number(fps.toFixed(2));
      assert.equal(recogniseFrameRate(frames, roundedSum(frames, fps), MS, declared).framesPerSecond, fps);
    });
  }

  test('is the declared one where frames were picked at uneven intervals from a source with another rate', () => {
    const threeOfFive = [0, 40, 60, 100, 140, 160, 200, 240, 260, 300, 340];
    assert.equal(recogniseFrameRate(10, threeOfFive[10]! / 1000, MS, 30).framesPerSecond, 30);
    assert.equal(recogniseFrameRate(8, 0.3, MS, 25).framesPerSecond, 25);
    assert.equal(recogniseFrameRate(8, 0.32, MS, 30).framesPerSecond, 25);
  });

  test('is recognised by measuring when the declared rate does not fit, and is not exact when no well-known rate fits', () => {
    assert.equal(recogniseFrameRate(10, 0.333, MS, 1000).framesPerSecond, 30);
    assert.deepEqual(recogniseFrameRate(2, 0.3, MS, undefined), { framesPerSecond: 2 / 0.3, exact: false });
  });
});

test('a run of frames in rounded milliseconds never exceeds the part target, whenever it begins', () => {
  const rates = [5, 12, 15, 24_000 / 1001, 24, 25, 30_000 / 1001, 30, 48, 50, 60_000 / 1001, 60];
  fc.assert(
    fc.property(
      fc.constantFrom(...rates),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(10_000),
      (fps, phase, first) => {
        const frames = framesPerPart(fps);
        const at = (index: number) => Math.round((index * 1000) / fps + phase);
        const rate = recogniseFrameRate(frames, (at(frames) - at(0)) / 1000, MS, fps);
        assert.ok(at(first + frames) - at(first) <= longestPartMs(frames, rate));
        assert.ok(frames / fps <= PART_LENGTH_S + 1e-6);
      },
    ),
  );
});

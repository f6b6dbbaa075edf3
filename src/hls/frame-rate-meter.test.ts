import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FrameRateMeter } from './frame-rate-meter.ts';

/** The rate that a meter finds for frames at these times in milliseconds. */
function measured(timesMs: readonly number[], declared?: number): number | undefined {
  const meter = new FrameRateMeter(declared);
  for (const [index, atMs] of timesMs.entries()) if (index > 0) meter.add((atMs - timesMs[index - 1]!) * 90);
  return meter.framesPerSecond;
}

/** The times of frames at a rate, rounded to milliseconds as in RTMP. */
const steady = (fps: number, seconds: number, fromMs = 0) =>
  Array.from({ length: Math.floor(fps * seconds) + 1 }, (_, index) => fromMs + Math.round((index * 1000) / fps));

/** Frames that the publisher stamps a few milliseconds apart, and then steady ones. */
const burst = (frames: number, apartMs: number, fps: number, seconds: number) => [
  ...Array.from({ length: frames }, (_, index) => index * apartMs),
  ...steady(fps, seconds, frames * apartMs),
];

describe('the frame rate', () => {
  for (const fps of [1, 5, 10, 15, 24, 25, 30, 50, 60, 120, 24_000 / 1001, 30_000 / 1001, 60_000 / 1001]) {
    const name = fps.toFixed(2);
    test(`of ${name} is known with the first part when it is declared, and after three seconds when it is not`, () => {
      assert.equal(measured(steady(fps, Math.max(1 / fps, 0.35)), Number(name)), fps);
      assert.equal(measured(steady(fps, Math.max(1 / fps, 0.35))), undefined);
      assert.equal(measured(steady(fps, 4)), fps);
    });
  }

  test('is not known while a source has sent only its first burst, and then is that of its other frames', () => {
    for (const declared of [undefined, 30, 60]) {
      for (const [frames, apartMs] of [
        [24, 1],
        [60, 0.1],
        [35, 10],
        [60, 10],
        [120, 5],
      ] as const) {
        for (let seconds = 0; seconds < 6; seconds += 0.1) {
          const found = measured(burst(frames, apartMs, 30, seconds), declared);
          assert.ok(found === undefined || found === 30, `${frames} frames, then ${seconds} s: ${found}`);
          if (seconds > 4.5) assert.equal(found, 30);
        }
      }
    }
  });

  test('is the declared one where there is a pause among frames that have the declared rate', () => {
    const afterPause = steady(30, 0.3, 300);
    assert.equal(measured([0, 33, 300, ...afterPause.slice(1)], 30), 30);
  });

  test('is the declared one where the source keeps three of every five frames of a camera', () => {
    const picked = Array.from({ length: 50 }, (_, index) => Math.floor((index * 5) / 3 + 0.5) * 20);
    assert.equal(measured(picked, 30), 30);
    assert.equal(measured(picked.slice(0, 12), 30), undefined);
  });

  test('is not the declared one when the source has another rate, however near', () => {
    for (const fps of [2, 15, 25, 28, 29, 31]) {
      assert.equal(measured(steady(fps, 0.35), 30), undefined, `${fps} after a part`);
      assert.equal(measured(steady(fps, 4), 30), fps);
    }
  });

  test('is not known while frames have no regular duration', () => {
    const times = [0, 20, 90, 130, 300, 310, 500, 520, 700, 1000, 1010, 1200, 1800, 1900, 2500, 2600, 3200, 3300];
    assert.equal(measured(times, 30), undefined);
    assert.equal(measured(times), undefined);
  });

  test('is that of the newest frames when the source changes it', () => {
    assert.equal(measured([...steady(30, 4), ...steady(15, 3.2, 4000).slice(1)]), 15);
  });
});

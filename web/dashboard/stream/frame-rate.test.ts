import assert from 'node:assert/strict';
import { test } from 'node:test';
import { framesPerSecond, withFrameRate } from './frame-rate.ts';

const PROFILE = { name: 'low', width: 640, height: 360, bitrate: 500_000, fps: 30_000, fpsDen: 1001 };

test('a frame rate is shown as people write it', () => {
  assert.equal(framesPerSecond(PROFILE), 29.97);
  assert.equal(framesPerSecond({ fps: 25 }), 25);
  assert.equal(framesPerSecond({ fps: 0 }), 0);
});

for (const [wanted, rate] of [
  [30, { fps: 30 }],
  [0, { fps: 0 }],
  [12.5, { fps: 25, fpsDen: 2 }],
  [29.97, { fps: 30_000, fpsDen: 1001 }],
  [23.976, { fps: 24_000, fpsDen: 1001 }],
  [240, { fps: 240 }],
] as const) {
  test(`${wanted} frames per second replace the former frame rate, and are shown as they were entered`, () => {
    const { fpsDen: _, ...others } = PROFILE;
    const changed = withFrameRate(PROFILE, wanted);
    assert.deepEqual(changed, { ...others, ...rate });
    assert.equal(framesPerSecond(changed), wanted);
  });
}

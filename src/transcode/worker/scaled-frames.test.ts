import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AV_LOG_QUIET, AV_PIX_FMT_YUV420P10LE, AVCOL_TRC_BT709, AVCOL_TRC_SMPTE2084 } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { grey } from '#test/support/grey-frame.ts';
import { ScaledFrames } from './scaled-frames.ts';

Log.setLevel(AV_LOG_QUIET);

const SIZE = { width: 160, height: 90 };

it('maps the tones of a frame once for all that use it, but not if nobody does, or if the frame has standard range', () => {
  let preparations = 0;
  using frames = new ScaledFrames(SIZE, () => void preparations++);
  frames.begin(grey(400, AVCOL_TRC_SMPTE2084));
  assert.deepEqual([frames.smallestAsItIs.format, preparations], [AV_PIX_FMT_YUV420P10LE, 0]);
  for (const [colorTrc, width] of [
    [AVCOL_TRC_SMPTE2084, 160],
    [AVCOL_TRC_BT709, 320],
    [AVCOL_TRC_SMPTE2084, 160],
  ] as const) {
    frames.begin(grey(400, colorTrc));
    const { smallest } = frames;
    assert.deepEqual([smallest.width, smallest.colorTrc], [width, AVCOL_TRC_BT709]);
    assert.equal(frames.ofWidth(1000), smallest);
    assert.equal(frames.smallestAsItIs, smallest);
  }
  assert.equal(preparations, 1);
});

it('gives the smallest frame that is wide enough, or the largest one', () => {
  using frames = new ScaledFrames(SIZE, () => {});
  const [decoded, scaled] = [grey(400, AVCOL_TRC_BT709), grey(400, AVCOL_TRC_BT709)];
  scaled.width = 200;
  frames.begin(decoded);
  frames.add(scaled);
  assert.deepEqual(
    [100, 200, 201, 1000].map((width) => frames.ofWidth(width) === scaled),
    [true, true, false, false],
  );
  assert.equal(frames.smallest, scaled);
});

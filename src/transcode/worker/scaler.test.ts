import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  AV_FRAME_FLAG_INTERLACED,
  AV_LOG_QUIET,
  AV_PIX_FMT_GBRP,
  AVCOL_RANGE_JPEG,
  AVCOL_SPC_BT709,
  AVCOL_SPC_BT2020_NCL,
  AVCOL_SPC_RGB,
  AVCOL_SPC_YCGCO,
  AVCOL_TRC_BT709,
} from 'node-av/constants';
import { FFmpegError, type Frame, Log } from 'node-av/lib';
import { grey } from '#test/support/grey-frame.ts';
import { emptyFrame } from './av.ts';
import { Scaler } from './scaler.ts';

Log.setLevel(AV_LOG_QUIET);

const SIZE = { width: 160, height: 90 };

it('leaves a frame that fits unchanged, and keeps the colours of one that does not', () => {
  using same = new Scaler({ width: 320, height: 180 });
  using smaller = new Scaler(SIZE);
  const bt709 = grey(400, AVCOL_TRC_BT709);
  const frame = same.scale(bt709);
  assert.equal(frame.colorSpace, AVCOL_SPC_BT2020_NCL);
  assert.equal(frame.data![0]![0], 100);
  assert.equal(same.scale(frame), frame);
  assert.equal(smaller.scale(frame).data![0]![0], 100);
});

for (const [what, said] of [
  ['two fields', { flags: AV_FRAME_FLAG_INTERLACED }],
  ['a matrix without a formula', { colorSpace: AVCOL_SPC_YCGCO }],
  ['primaries nobody defined', { colorPrimaries: 0 as Frame['colorPrimaries'] }],
  ['a transfer function nobody defined', { colorTrc: 200 as Frame['colorTrc'] }],
] as const) {
  it(`accepts a frame that declares ${what}, with a wrong or a right size`, () => {
    for (const size of [SIZE, { width: 2 * SIZE.width, height: 2 * SIZE.height }]) {
      using scaler = new Scaler(size);
      const frame = scaler.scale(Object.assign(grey(400, AVCOL_TRC_BT709), said));
      assert.deepEqual([frame.width, frame.data![0]![0]], [size.width, 100]);
    }
  });
}

it('converts RGB so that players show the same colours', () => {
  const red = emptyFrame();
  Object.assign(red, { width: 320, height: 180, format: AV_PIX_FMT_GBRP });
  Object.assign(red, { colorSpace: AVCOL_SPC_RGB, colorRange: AVCOL_RANGE_JPEG });
  FFmpegError.throwIfError(red.getBuffer(), 'memory');
  for (const [plane, bytes] of red.data!.entries()) bytes.fill(plane === 2 ? 255 : 0);
  using scaler = new Scaler(SIZE);
  const frame = scaler.scale(red);
  assert.equal(frame.colorSpace, AVCOL_SPC_BT709);
  // ITU-R BT.709 §3.
  const off = [54, 99, 255].map((value, plane) => Math.abs(frame.data![plane]![0]! - value));
  assert.ok(Math.max(...off) <= 1, off.join());
});

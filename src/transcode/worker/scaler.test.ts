import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  AV_FRAME_FLAG_INTERLACED,
  AV_LOG_QUIET,
  AV_PIX_FMT_GBRP,
  AV_PIX_FMT_YUV420P,
  AV_PIX_FMT_YUV420P10LE,
  AVCOL_PRI_BT709,
  AVCOL_PRI_BT2020,
  AVCOL_RANGE_JPEG,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_SPC_BT2020_NCL,
  AVCOL_SPC_RGB,
  AVCOL_SPC_YCGCO,
  AVCOL_TRC_ARIB_STD_B67,
  AVCOL_TRC_BT709,
  AVCOL_TRC_SMPTE2084,
} from 'node-av/constants';
import { FFmpegError, type Frame, Log } from 'node-av/lib';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import { VIDEO_TRACK } from '#test/support/tracks.ts';
import { ENCODERS } from '#transcode/encoders.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import { emptyFrame } from './av.ts';
import { Scaler } from './scaler.ts';
import { VideoEncoder } from './video-encoder.ts';

Log.setLevel(AV_LOG_QUIET);

const SIZE = { width: 160, height: 90 };
const BLACK = 16;
const WHITE = 235;

/** A grey frame of 10 bits, twice the size. */
function grey(luma: number, colorTrc: Frame['colorTrc']): Frame {
  const frame = emptyFrame();
  frame.width = 2 * SIZE.width;
  frame.height = 2 * SIZE.height;
  frame.format = AV_PIX_FMT_YUV420P10LE;
  frame.colorRange = AVCOL_RANGE_MPEG;
  frame.colorSpace = AVCOL_SPC_BT2020_NCL;
  frame.colorPrimaries = AVCOL_PRI_BT2020;
  frame.colorTrc = colorTrc;
  FFmpegError.throwIfError(frame.getBuffer(), 'memory');
  for (const [plane, bytes] of frame.data!.entries()) {
    for (let at = 0; at + 1 < bytes.length; at += 2) bytes.writeUInt16LE(plane === 0 ? luma : 512, at);
  }
  return frame;
}

/** The video range that a rendition of such frames declares. */
function rangeOf(first: Frame) {
  const [plan] = planRenditions([{ name: 'small', bitrate: 300_000, fps: 0, ...SIZE }], {
    ...VIDEO_TRACK,
    ...SIZE,
  }).renditions;
  const settings = { preset: 'ultrafast', threads: 1, framesPerSecond: 30 };
  using encoder = new VideoEncoder(ENCODERS[0], { plan: plan!, settings, first }, () => {});
  return parseAvcConfig(encoder.config).videoRange;
}

// BT.2408: the level at which each transfer function puts diffuse white, 203 cd/m².
for (const [what, colorTrc, white] of [
  ['PQ', AVCOL_TRC_SMPTE2084, 573],
  ['HLG', AVCOL_TRC_ARIB_STD_B67, 721],
] as const) {
  it(`maps the tones of ${what}: black stays black, diffuse white is white, and nothing exceeds it`, () => {
    using scaler = new Scaler(SIZE);
    const shown = [64, white, 940].map((luma) => {
      const frame = scaler.scale(grey(luma, colorTrc));
      assert.deepEqual([frame.width, frame.height, frame.format], [160, 90, AV_PIX_FMT_YUV420P]);
      assert.deepEqual(
        [frame.colorSpace, frame.colorPrimaries, frame.colorTrc],
        [AVCOL_SPC_BT709, AVCOL_PRI_BT709, AVCOL_TRC_BT709],
      );
      assert.equal(rangeOf(frame), 'SDR');
      return frame.data![0]![0]!;
    });
    const off = [BLACK, WHITE, WHITE].map((luma, index) => Math.abs(shown[index]! - luma));
    assert.ok(Math.max(...off) <= 3, shown.join());
  });
}

it('prepares the mapping of tones once, also when frames of standard range come in between', () => {
  using scaler = new Scaler(SIZE);
  /** The CPU time of scaling a frame, in milliseconds. */
  const cost = (colorTrc: Frame['colorTrc']) => {
    const frame = grey(400, colorTrc);
    const before = process.cpuUsage();
    scaler.scale(frame);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const [first, , again] = [AVCOL_TRC_SMPTE2084, AVCOL_TRC_BT709, AVCOL_TRC_SMPTE2084].map(cost);
  assert.ok(again! < first! / 4, `${first} ms at first, and ${again} ms again`);
});

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

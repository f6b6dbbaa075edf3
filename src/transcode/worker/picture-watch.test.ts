import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10LE } from 'node-av/constants';
import { FFmpegError, type Frame } from 'node-av/lib';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { emptyFrame } from './av.ts';
import { PictureWatch } from './picture-watch.ts';

/** A frame of one brightness, with a brighter square whose place depends on the time. */
function frameAt(luma: number, square: number, format: number = AV_PIX_FMT_YUV420P): Frame {
  const frame = emptyFrame();
  frame.width = 320;
  frame.height = 180;
  frame.format = format as typeof AV_PIX_FMT_YUV420P;
  FFmpegError.throwIfError(frame.getBuffer(), 'memory');
  for (const [plane, bytes] of frame.data!.entries()) bytes.fill(plane === 0 ? luma : 128);
  const pitch = frame.linesize[0]!;
  for (let y = 0; y < 40; y += 1) frame.data![0]!.fill(luma + 60, y * pitch + square, y * pitch + square + 40);
  return frame;
}

/** Shows 25 frames a second, and returns the state at the end. */
function watch(seconds: number, frame: (second: number) => Frame, picture = new PictureWatch(), fromS = 0) {
  for (let at = 0; at < seconds * 25; at += 1) {
    using shown = frame(fromS + at / 25);
    picture.offer(shown, Math.round((fromS + at / 25) * VIDEO_TIMESCALE));
  }
  return picture.state;
}

const moving = (second: number) => frameAt(80, Math.floor(second * 20) % 260);
const still = () => frameAt(80, 100);
const black = () => {
  const frame = emptyFrame();
  frame.width = 320;
  frame.height = 180;
  frame.format = AV_PIX_FMT_YUV420P;
  FFmpegError.throwIfError(frame.getBuffer(), 'memory');
  for (const [plane, bytes] of frame.data!.entries()) bytes.fill(plane === 0 ? 16 : 128);
  return frame;
};

test('a moving video is neither black nor frozen', () => {
  assert.deepEqual(watch(5, moving), { blackS: 0, frozenS: 0 });
});

test('the time for which the video has been frozen or black grows until it moves again', () => {
  const picture = new PictureWatch();
  watch(3, moving, picture);
  const frozen = watch(10, still, picture, 3);
  assert.ok(frozen.frozenS >= 8 && frozen.frozenS <= 10, `${frozen.frozenS}`);
  assert.equal(frozen.blackS, 0);
  assert.deepEqual(watch(2, moving, picture, 13), { blackS: 0, frozenS: 0 });
  const dark = watch(12, black, picture, 15);
  assert.ok(dark.blackS >= 10 && dark.blackS <= 12, `${dark.blackS}`);
});

test('after a pause or a jump back the measurement restarts', () => {
  const picture = new PictureWatch();
  watch(5, still, picture);
  assert.equal(watch(1, still, picture, 60).frozenS, 0);
  assert.equal(watch(1, still, picture, 0).frozenS, 0);
});

test('frames of another format are neither black nor frozen', () => {
  assert.deepEqual(
    watch(4, () => frameAt(0, 0, AV_PIX_FMT_YUV420P10LE)),
    { blackS: 0, frozenS: 0 },
  );
});

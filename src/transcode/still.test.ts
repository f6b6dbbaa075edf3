import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { firstKeyframe } from '#media/mp4/first-keyframe.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { makeClip } from '#test/support/clip.ts';
import { decodeJpeg } from '#test/support/jpeg.ts';
import { wholeFragment } from '#test/support/whole-fragment.ts';
import { ForkServer } from './fork-server.ts';
import { makeStill } from './still.ts';

const forkServer = new ForkServer();
after(() => forkServer[Symbol.dispose]());

/** A segment of a clip, with its init segment. */
function segmentOf(frames: number, keyframe = true) {
  const { track, packets } = makeClip({ width: 1280, height: 720, frames, gop: 30 });
  const samples = packets.map(({ pts, dts, data }, index) => ({
    pts,
    dts,
    data,
    durationTicks: 3000,
    keyframe: index === 0 && keyframe,
  }));
  return { init: initSegment(track), segment: wholeFragment(track, 0, samples) };
}

it('makes a picture of the keyframe that a recorded segment begins with', async () => {
  const { init, segment } = segmentOf(3);
  const found = firstKeyframe(init, segment)!;
  assert.deepEqual([found.codec, found.width, found.height], ['h264', 1280, 720]);
  const picture = decodeJpeg((await makeStill(forkServer, found))!);
  assert.deepEqual([picture.width, picture.height], [640, 360]);
  const levels = new Set(picture.luma);
  assert.ok(levels.size > 20, 'the picture is not one grey');
});

it('makes no picture of a frame that cannot be decoded', async () => {
  const { init, segment } = segmentOf(1);
  const found = firstKeyframe(init, segment)!;
  assert.equal(await makeStill(forkServer, { ...found, data: Buffer.alloc(found.data.length) }), undefined);
});

it('finds no keyframe in a segment that begins with another frame, or is cut within it', () => {
  const other = segmentOf(1, false);
  assert.equal(firstKeyframe(other.init, other.segment), undefined);
  const { init, segment } = segmentOf(1);
  assert.equal(firstKeyframe(init, segment.subarray(0, -10)), undefined);
});

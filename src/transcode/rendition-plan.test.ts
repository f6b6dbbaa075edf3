import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_PROFILES, type Profile } from '#domain/profile.ts';
import type { VideoTrack } from '#media/track.ts';
import { VIDEO_TRACK } from '#test/support/tracks.ts';
import { planRenditions } from './rendition-plan.ts';

const source = (width: number, height: number, declaredFrameRate?: number): VideoTrack => ({
  ...VIDEO_TRACK,
  width,
  height,
  declaredFrameRate,
});
const profile = (width: number, height: number, rest: Partial<Profile> = {}): Profile => ({
  name: 'p',
  bitrate: 1_000_000,
  fps: 0,
  width,
  height,
  ...rest,
});

for (const [name, [width, height], [boxWidth, boxHeight], expected] of [
  ['16:9 into the box of the default 480p', [1280, 720], [854, 480], [854, 480]],
  ['16:9 into the box of the default 240p', [1920, 1080], [426, 240], [426, 240]],
  ['the same size', [1280, 720], [1280, 720], [1280, 720]],
  ['4:3 keeps its shape', [640, 480], [640, 360], [480, 360]],
  ['a wide source keeps its shape', [1920, 800], [1280, 720], [1280, 534]],
  ['a portrait source turns the box', [720, 1280], [640, 360], [360, 640]],
  ['a portrait box is left as it is for a portrait source', [720, 1280], [360, 640], [360, 640]],
  ['a portrait box does not turn for a landscape source', [1280, 720], [360, 640], [360, 202]],
  ['odd sizes become even', [1279, 719], [1279, 719], [1278, 718]],
  ['an odd box is never exceeded', [1000, 1000], [427, 427], [426, 426]],
  ['larger than the source is left out', [640, 360], [854, 480], undefined],
  ['larger in one direction only still fits', [640, 480], [854, 480], [640, 480]],
  ['a source too thin for its box keeps a macroblock', [8000, 128], [128, 128], [128, 16]],
] as const) {
  it(`fits the frame into the box: ${name}`, () => {
    const { renditions, leftOut } = planRenditions([profile(boxWidth, boxHeight)], source(width, height));
    assert.deepEqual(
      renditions.map((each) => [each.width, each.height]),
      expected === undefined ? [] : [expected],
    );
    assert.deepEqual(leftOut, expected === undefined ? [{ profile: 'p', reason: 'larger_than_source' }] : []);
  });
}

it('plans an even size within every box, never larger than the source, with its shape', () => {
  const side = fc.integer({ min: 128, max: 8192 });
  fc.assert(
    fc.property(side, side, side, side, (width, height, boxWidth, boxHeight) => {
      const [plan] = planRenditions([profile(boxWidth, boxHeight)], source(width, height)).renditions;
      const turned = height > width && boxWidth > boxHeight;
      const [maxWidth, maxHeight] = turned ? [boxHeight, boxWidth] : [boxWidth, boxHeight];
      if (plan === undefined) return assert.ok(maxWidth > width && maxHeight > height);
      assert.ok(plan.width % 2 === 0 && plan.height % 2 === 0);
      assert.ok(plan.width <= maxWidth && plan.height <= maxHeight);
      assert.ok(plan.width <= width + 1 && plan.height <= height + 1);
      // Each side is rounded by at most one pixel, or by two down to an odd box, unless it was too small to keep.
      if (Math.min(plan.width, plan.height) > 16) {
        const scale = Math.min(maxWidth / width, maxHeight / height);
        assert.ok(Math.abs(plan.width - width * scale) < 2 && Math.abs(plan.height - height * scale) < 2);
      }
    }),
  );
});

it('limits the frame rate for any declared rate of the source, and not at all for fps 0', () => {
  const limit = (profile: Profile) => planRenditions([profile], source(1280, 720, 30)).renditions[0]?.frameRate;
  assert.equal(limit(profile(640, 360, { fps: 0 })), undefined);
  assert.deepEqual(limit(profile(640, 360, { fps: 30 })), { num: 30, den: 1 });
  assert.deepEqual(limit(profile(640, 360, { fps: 30_000, fpsDen: 1001 })), { num: 30_000, den: 1001 });
});

it('reads gop as seconds, as every frame, or as segment starts only', () => {
  const keyframes = (gop?: string) =>
    planRenditions([profile(640, 360, gop === undefined ? {} : { gop })], source(1280, 720)).renditions[0]?.keyframes;
  assert.deepEqual([undefined, '0', '2.0', '0.5', 'intra'].map(keyframes), [
    { type: 'cuts' },
    { type: 'cuts' },
    { type: 'seconds', seconds: 2 },
    { type: 'seconds', seconds: 0.5 },
    { type: 'every_frame' },
  ]);
});

it('keeps the order of the profiles, and announces the peak that the buffer allows over the shortest segment', () => {
  const { renditions, leftOut } = planRenditions(DEFAULT_PROFILES, source(854, 480));
  assert.deepEqual(
    renditions.map(({ id, bitrateBps, peakBitrateBps, h264Profile }) => [id, bitrateBps, peakBitrateBps, h264Profile]),
    [
      ['240p0', 250_000, 375_000, 'H264ConstrainedHigh'],
      ['360p0', 800_000, 1_200_000, 'H264ConstrainedHigh'],
      ['480p0', 1_600_000, 2_400_000, 'H264ConstrainedHigh'],
    ],
  );
  assert.deepEqual(leftOut, [{ profile: '720p0', reason: 'larger_than_source' }]);
});

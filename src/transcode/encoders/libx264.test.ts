import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VIDEO_TRACK } from '#test/support/tracks.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import { libx264 } from './libx264.ts';

/** The x264 parameters for one profile of a source. */
function x264Params({ preset = 'veryfast', framesPerSecond = 30 }): ReadonlyMap<string, string> {
  const profile = { name: '360p', width: 640, height: 360, bitrate: 800_000, fps: 0 };
  const [plan] = planRenditions([profile], { ...VIDEO_TRACK, width: 1280, height: 720 }).renditions;
  const { 'x264-params': params = '' } = libx264.options(plan!, { preset, threads: 1, framesPerSecond });
  return new Map(params.split(':').map((each) => each.split('=') as [string, string]));
}

test('veryfast is tuned, and every other preset keeps its own motion search', () => {
  const search = (preset: string) => ['me', 'partitions', 'ref'].map((name) => x264Params({ preset }).get(name));
  assert.deepEqual(search('veryfast'), ['dia', 'p8x8,i8x8,i4x4', '2']);
  for (const preset of ['ultrafast', 'superfast', 'faster', 'slow']) {
    assert.deepEqual(search(preset), [undefined, undefined, undefined], preset);
  }
});

test('a bitrate below what x264 can count in is raised, and remains a limit', () => {
  const base = { name: 'tiny', width: 640, height: 360, bitrate: 400, fps: 0 };
  const settings = { preset: 'veryfast', threads: 1, framesPerSecond: 30 };
  for (const [profile, rate] of [
    [base, ['1000', undefined]],
    [{ ...base, quality: 0 }, [undefined, '1']],
  ] as const) {
    const [plan] = planRenditions([profile], { ...VIDEO_TRACK, width: 1280, height: 720 }).renditions;
    const { b, crf, maxrate, bufsize } = libx264.options(plan!, settings);
    assert.deepEqual([b, crf, maxrate, bufsize], [...rate, '1000', '1000']);
  }
});

test('at low frame rates no frame waits for later ones, with any preset', () => {
  for (const preset of ['ultrafast', 'veryfast', 'slow']) {
    const slow = x264Params({ preset, framesPerSecond: 5 });
    assert.deepEqual([slow.get('bframes'), slow.get('rc-lookahead'), slow.get('mbtree')], ['0', '0', '0']);
    const usual = x264Params({ preset });
    assert.deepEqual([usual.get('bframes'), usual.get('rc-lookahead'), usual.get('mbtree')], ['1', '3', undefined]);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unplayableProperties } from './playability.ts';
import type { VideoTrack } from './track.ts';

const propertiesOf = (codec: VideoTrack['codec'], codecString: string) =>
  unplayableProperties({ codec, codecString } as VideoTrack);

test('H.264 of 8 bits and 4:2:0 up to level 5.2 is playable everywhere', () => {
  for (const codecString of ['avc1.42c01e', 'avc1.4d401f', 'avc1.640028', 'avc1.640034']) {
    assert.deepEqual(propertiesOf('h264', codecString), [], codecString);
  }
});

test('4:4:4, 4:2:2, 10 bits and high levels are named as unplayable', () => {
  for (const [codec, codecString, named] of [
    ['h264', 'avc1.f4001f', /^4:4:4/],
    ['h264', 'avc1.7a001f', /^4:2:2/],
    ['h264', 'avc1.6e001f', /^10-bit/],
    ['h264', 'avc1.640033', undefined],
    ['h264', 'avc1.64003c', /^level 6.0/],
    ['h265', 'hvc1.1.6.L93.B0', undefined],
    ['h265', 'hvc1.2.4.L93.B0', undefined],
    ['h265', 'hvc1.4.10.L93.B0', /range extension/],
    ['av1', 'av01.0.04M.08', undefined],
    ['av1', 'av01.1.04M.08', /^4:2:2 or 4:4:4/],
  ] as const) {
    const [first] = propertiesOf(codec, codecString);
    if (named === undefined) assert.equal(first, undefined, codecString);
    else assert.match(first ?? '', named, codecString);
  }
});

test('a stated depth of more than four reordered frames is named, beside what else players cannot decode', () => {
  const propertiesAt = (codec: VideoTrack['codec'], codecString: string, reorderedFrames: number | undefined) =>
    unplayableProperties({ codec, codecString, reorderedFrames } as VideoTrack);
  for (const depth of [undefined, 0, 2, 4]) {
    assert.deepEqual(propertiesAt('h264', 'avc1.640028', depth), [], `${depth} frames`);
  }
  for (const [codec, codecString] of [
    ['h264', 'avc1.640028'],
    ['h265', 'hvc1.1.6.L93.B0'],
  ] as const) {
    assert.deepEqual(propertiesAt(codec, codecString, 5), ['B-frames with a depth of 5 frames']);
  }
  const [chroma, depth] = propertiesAt('h264', 'avc1.7a001f', 16);
  assert.match(chroma ?? '', /^4:2:2/);
  assert.match(depth ?? '', /16 frames$/);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { SampleMemory } from '#media/sample-memory.ts';
import { wholeFragment } from '#test/support/whole-fragment.ts';
import { type FragmentSample, fragment } from './fragment.ts';

const AUDIO = codecOf('aac').parseConfig(Buffer.from('1190', 'hex'));
const VIDEO = codecOf('h264').parseConfig(
  Buffer.from('0142c01fffe1000f6742c01f8c8d402802dd00f08846a001000468ce3c80', 'hex'),
);

/** `moof`, `mdat` and all their content except samples and their fields. */
const BOXES_BYTES = 8 + 16 + 8 + 16 + 20 + 20 + 8;

const sample = (index: number, changes: Partial<FragmentSample> = {}): FragmentSample => ({
  dts: ticks(index * 1024),
  pts: ticks(index * 1024),
  durationTicks: 1024,
  keyframe: true,
  data: Uint8Array.of(index),
  ...changes,
});

/** Bytes that each sample costs in addition to its data. */
function overhead(track: typeof AUDIO, samples: readonly FragmentSample[]): number {
  const media = samples.reduce((sum, { data }) => sum + data.length, 0);
  return (wholeFragment(track, 0, samples).length - BOXES_BYTES - media) / samples.length;
}

// Two independent readers check the content in test/media.
describe('a fragment', () => {
  it('spends four bytes on an audio frame, for its size, because all else is the track’s default', () => {
    assert.equal(overhead(AUDIO, [sample(0), sample(1), sample(2)]), 4);
  });

  it('spends four more on every field in which one sample differs', () => {
    assert.equal(overhead(AUDIO, [sample(0), sample(1, { durationTicks: 1000 })]), 8);
    assert.equal(overhead(VIDEO, [sample(0, { keyframe: false }), sample(1)]), 12);
    assert.equal(overhead(VIDEO, [sample(0), sample(1, { pts: ticks(0) })]), 16);
  });

  it('shares the bytes of samples that are next to each other in memory, in one piece', () => {
    const memory = new SampleMemory('video');
    const samples = [0, 1, 2, 3, 4].map((at) => sample(at, { data: memory.keep(Buffer.of(at, at)) }));
    const [boxes, media, ...others] = fragment(VIDEO, 0, samples);
    assert.equal(media?.buffer, samples[0]?.data.buffer);
    assert.deepEqual([...media!], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    assert.equal(boxes?.buffer.byteLength, boxes?.length, 'the boxes keep no other memory alive');
    assert.deepEqual(others, []);
  });

  it('is one buffer of exactly its size when each sample has a buffer of its own', () => {
    const samples = [0, 1, 2, 3, 4].map((at) => sample(at, { data: Buffer.allocUnsafeSlow(2).fill(at) }));
    const pieces = fragment(VIDEO, 0, samples);
    assert.deepEqual([pieces.length, pieces[0]?.buffer.byteLength], [1, pieces[0]?.length]);
  });

  it('is refused without samples, before the start of media time, or with a duration below 0', () => {
    for (const samples of [[], [sample(-1)], [sample(0, { durationTicks: -1 })]]) {
      assert.throws(() => wholeFragment(AUDIO, 0, samples), RangeError);
    }
  });
});

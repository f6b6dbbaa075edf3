import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { readTrack } from '../support/iso-bmff.ts';
import { wholeFragment } from '../support/whole-fragment.ts';

const TRACKS = [
  codecOf('h264').parseConfig(
    Buffer.from(
      '0164001fffe1001a6764001facd9405005bb0110000003001000000303c0f183196001000668ebe3cb22c0fdf8f800',
      'hex',
    ),
  ),
  codecOf('aac').parseConfig(Buffer.from('119056e500', 'hex')),
];

const sample = fc.record({
  durationTicks: fc.oneof(fc.constant(1024), fc.integer({ min: 1, max: 2 ** 24 })),
  compositionOffset: fc.oneof(fc.constant(0), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  keyframe: fc.boolean(),
  data: fc.uint8Array({ minLength: 1, maxLength: 64 }),
});

it('fragments of any samples are read back as those samples', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...TRACKS),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.oneof(fc.integer({ min: 0, max: 2 ** 20 }), fc.integer({ min: 2 ** 31, max: 2 ** 52 })),
      fc.array(sample, { minLength: 1, maxLength: 40 }),
      (track, sequenceNumber, start, drawn) => {
        let dts = start;
        const samples = drawn.map(({ compositionOffset, ...rest }): FragmentSample => {
          const at = { dts: ticks(dts), pts: ticks(dts + compositionOffset) };
          dts += rest.durationTicks;
          return { ...at, ...rest };
        });
        const read = readTrack(initSegment(track), wholeFragment(track, sequenceNumber, samples));
        assert.deepEqual(read.fragments, [{ sequenceNumber, dts: start, samples: samples.length }]);
        assert.deepEqual(
          read.samples.map(({ data, ...each }) => ({ ...each, data: Uint8Array.from(data) })),
          samples.map(({ durationTicks, ...each }) => ({
            ...each,
            duration: durationTicks,
            dependsOn: each.keyframe ? 2 : 1,
            size: each.data.length,
          })),
        );
      },
    ),
  );
});

it('fragments appended one after another keep their order and times', () => {
  const [track] = TRACKS;
  assert.ok(track);
  const parts = [0, 1, 2].map((part) =>
    wholeFragment(track, part, [
      {
        dts: ticks(part * 3000),
        pts: ticks(part * 3000),
        durationTicks: 3000,
        keyframe: part === 0,
        data: Uint8Array.of(part),
      },
    ]),
  );
  const { samples } = readTrack(initSegment(track), ...parts);
  assert.deepEqual(
    samples.map(({ dts, keyframe, data }) => [dts, keyframe, data[0]]),
    [
      [0, true, 0],
      [3000, false, 1],
      [6000, false, 2],
    ],
  );
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { CONFIGS } from '#test/fuzz/recorded.ts';
import { wholeFragment } from '#test/support/whole-fragment.ts';
import { serialize } from './box.ts';
import type { FragmentSample } from './fragment.ts';
import { fragmentBytes, readFragment } from './fragment-reader.ts';
import { readInit } from './init-reader.ts';
import { initSegment } from './init-segment.ts';
import { MalformedMp4Error } from './malformed-mp4.ts';
import { sampleDefaults } from './sample-defaults.ts';

const TRACKS = Object.entries(CONFIGS).map(([codec, [config]]) =>
  codecOf(codec as keyof typeof CONFIGS).parseConfig(config!),
);

const sample = fc.record({
  durationTicks: fc.oneof(fc.constant(1024), fc.integer({ min: 0, max: 2 ** 24 })),
  compositionOffset: fc.oneof(fc.constant(0), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  keyframe: fc.boolean(),
  data: fc.uint8Array({ maxLength: 64 }),
});

const written = fc
  .record({
    track: fc.constantFrom(...TRACKS),
    sequenceNumber: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    start: fc.oneof(fc.integer({ min: 0, max: 2 ** 20 }), fc.integer({ min: 2 ** 31, max: 2 ** 52 })),
    drawn: fc.array(sample, { minLength: 1, maxLength: 40 }),
  })
  .map(({ track, sequenceNumber, start, drawn }) => {
    let dts = start;
    const samples = drawn.map(({ compositionOffset, ...rest }): FragmentSample => {
      const at = { dts: ticks(dts), pts: ticks(dts + compositionOffset) };
      dts += rest.durationTicks;
      return { ...at, ...rest };
    });
    return { track, sequenceNumber, start, samples, bytes: wholeFragment(track, sequenceNumber, samples) };
  });

describe('a fragment', () => {
  it('is read as the samples that were written', () => {
    fc.assert(
      fc.property(written, ({ track, sequenceNumber, start, samples, bytes }) => {
        const read = readFragment(bytes, readInit(initSegment(track)).defaults);
        assert.equal(read.sequenceNumber, sequenceNumber);
        assert.equal(read.baseDecodeTime, start);
        assert.deepEqual(
          [...read.sizes.keys()].map((at) => [
            read.sizes[at],
            read.durations[at],
            read.compositionOffsets[at],
            read.keyframes[at] === 1,
          ]),
          samples.map(({ data, durationTicks, pts, dts, keyframe }) => [
            data.length,
            durationTicks,
            pts - dts,
            keyframe,
          ]),
        );
        assert.equal(fragmentBytes(read), bytes.length);
        assert.deepEqual(bytes.subarray(read.moofBytes + 8), Buffer.concat(samples.map(({ data }) => data)));
      }),
    );
  });

  it('is read from its first bytes alone, and refused with fewer', () => {
    fc.assert(
      fc.property(written, fc.nat(), ({ track, bytes }, drawn) => {
        const whole = readFragment(bytes, sampleDefaults(track));
        const headBytes = whole.moofBytes + 8;
        assert.deepEqual(readFragment(bytes.subarray(0, headBytes), sampleDefaults(track)), whole);
        const torn = bytes.subarray(0, drawn % headBytes);
        assert.throws(() => readFragment(torn, sampleDefaults(track)), MalformedMp4Error);
      }),
    );
  });

  it('with any byte changed is refused, or describes as many samples of as many bytes', () => {
    fc.assert(
      fc.property(written, fc.nat(), fc.integer({ min: 1, max: 255 }), ({ track, bytes }, drawn, flip) => {
        const whole = readFragment(bytes, sampleDefaults(track));
        const damaged = Uint8Array.from(bytes);
        damaged[drawn % (whole.moofBytes + 8)]! ^= flip;
        try {
          const read = readFragment(damaged, sampleDefaults(track));
          assert.deepEqual(read.sizes, whole.sizes);
          assert.equal(fragmentBytes(read), bytes.length);
        } catch (error) {
          assert.ok(error instanceof MalformedMp4Error, String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('an init segment', () => {
  for (const track of TRACKS) {
    const init = initSegment(track);

    it(`of ${track.codec} is read as the track it describes`, () => {
      const { sampleEntry, ...read } = readInit(init);
      const size = track.kind === 'video' ? { width: track.width, height: track.height } : { width: 0, height: 0 };
      assert.deepEqual(read, {
        kind: track.kind,
        timescale: track.timescale,
        ...size,
        defaults: sampleDefaults(track),
      });
      assert.deepEqual(Buffer.from(sampleEntry), serialize(codecOf(track.codec).sampleEntry(track)));
    });

    it(`of ${track.codec} is refused when it is cut anywhere`, () => {
      for (let length = 0; length < init.length; length++) {
        assert.throws(() => readInit(init.subarray(0, length)), MalformedMp4Error);
      }
    });

    it(`of ${track.codec} is read or refused with any byte changed`, () => {
      for (let at = 0; at < init.length; at++) {
        const damaged = Uint8Array.from(init);
        damaged[at]! ^= 0x81;
        try {
          assert.ok(readInit(damaged).timescale > 0);
        } catch (error) {
          assert.ok(error instanceof MalformedMp4Error, String(error));
        }
      }
    });
  }
});

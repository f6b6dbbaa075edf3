/**
 * The readers of what recordings consist of: fragments, init segments, and the walk through the boxes of a volume.
 */
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { box, bytes, serialize } from '#media/mp4/box.ts';
import { walkBoxes } from '#media/mp4/box-walk.ts';
import { fragmentBytes, readFragment } from '#media/mp4/fragment-reader.ts';
import { readInit } from '#media/mp4/init-reader.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { MalformedMp4Error } from '#media/mp4/malformed-mp4.ts';
import { sampleDefaults } from '#media/mp4/sample-defaults.ts';
import { wholeFragment } from '../../support/whole-fragment.ts';
import { CONFIGS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const NAMES = ['moof', 'mdat', 'uuid', 'trun', 'ftyp', 'moov'];
const VIDEO = codecOf('h264').parseConfig(CONFIGS.h264[0]!);
const AUDIO = codecOf('aac').parseConfig(CONFIGS.aac[0]!);
const INITS = Object.entries(CONFIGS).map(([codec, [config]]) =>
  initSegment(codecOf(codec as keyof typeof CONFIGS).parseConfig(config!)),
);

const samples = (count: number, reordered: number) =>
  Array.from({ length: count }, (_, index) => ({
    dts: ticks(index * 3000),
    pts: ticks(index * 3000 + (index % 2) * reordered),
    durationTicks: 3000,
    keyframe: index === 0,
    data: Uint8Array.of(index),
  }));
const FRAGMENTS = [
  wholeFragment(VIDEO, 7, samples(3, 3000)),
  wholeFragment(VIDEO, 8, samples(1, 0)),
  wholeFragment(AUDIO, 9, samples(4, 0)),
];

/** One fragment. */
export const fragmentTarget: Target = {
  name: 'fragment',
  corpus: FRAGMENTS,
  dictionary: NAMES,
  expected: [MalformedMp4Error],
  open: () => ({
    read(input) {
      const read = readFragment(input, sampleDefaults(VIDEO));
      const { length } = read.sizes;
      must(length > 0 && length * 4 <= input.length, () => `${length} samples in ${input.length} bytes`);
      const sizes = read.sizes.reduce((sum, size) => sum + size, 0);
      must(sizes === read.payloadBytes, () => `samples of ${sizes} bytes in ${read.payloadBytes}`);
      must(
        fragmentBytes(read) >= read.moofBytes + 8 && read.moofBytes + 8 <= input.length,
        () => `a moof of ${read.moofBytes} bytes`,
      );
      return behaviour(length, magnitude(read.payloadBytes), magnitude(read.baseDecodeTime), read.moofBytes);
    },
  }),
};

/** One init segment. */
export const initTarget: Target = {
  name: 'init-segment',
  corpus: INITS,
  dictionary: ['vide', 'soun', 'stsd', 'trex'],
  expected: [MalformedMp4Error],
  open: () => ({
    read(input) {
      const { kind, timescale, width, height, sampleEntry } = readInit(input);
      must(timescale > 0 && sampleEntry.length >= 8, () => `a timescale of ${timescale}`);
      must(sampleEntry.length <= input.length, () => `an entry of ${sampleEntry.length} bytes`);
      return behaviour(kind.length, magnitude(timescale), magnitude(width), magnitude(height), sampleEntry.length);
    },
  }),
};

/** A volume: boxes of a file. */
export const boxWalkTarget: Target = {
  name: 'box-walk',
  corpus: [
    Buffer.concat([INITS[0]!, serialize(box('uuid', bytes(new Uint8Array(20)))), ...FRAGMENTS]),
    Buffer.concat(FRAGMENTS),
  ],
  dictionary: NAMES,
  open: () => ({
    read(input) {
      let at = 0;
      let isEnded = false;
      const facts: number[] = [];
      for (const step of walkBoxes((from, size) => input.subarray(from, from + size), 0, input.length)) {
        must(!isEnded && step.at === at, () => `a step at ${step.at} instead of ${at}`);
        isEnded = step.type === 'end';
        if (step.type === 'end') continue;
        must(step.sizeBytes >= 8 && at + step.sizeBytes <= input.length, () => `a box of ${step.sizeBytes} bytes`);
        at += step.sizeBytes;
        facts.push(step.type === 'fragment' ? 1 : step.name.charCodeAt(0));
      }
      must(isEnded, () => 'the walk has no end');
      return behaviour(...facts, magnitude(at));
    },
  }),
};

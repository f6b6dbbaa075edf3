import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeRecord } from './index-file.ts';
import type { IndexRecord } from './index-record.ts';
import { readIndex } from './recording-index.ts';

const INIT: IndexRecord = {
  type: 'init',
  rendition: 0,
  id: 'source',
  number: 0,
  track: {
    kind: 'video',
    codec: 'h264',
    rfc6381: 'avc1.64001f',
    timescale: 90_000,
    width: 1280,
    height: 720,
    declaredFrameRate: undefined,
    videoRange: undefined,
  },
  bytes: new Uint8Array(10),
};

const segment = (number: number): IndexRecord => ({
  type: 'segment',
  rendition: 0,
  number,
  volume: 0,
  offset: 1000 * number,
  init: 0,
  startTicks: number * 180_000,
  programDateTimeMs: 1_000_000 + number * 2000,
  discontinuity: false,
  independent: true,
});

const PART: IndexRecord = {
  type: 'part',
  rendition: 0,
  sizeBytes: 500,
  moofBytes: 100,
  crc32: 0,
  offsetTicks: 0,
  samples: {
    sizes: new Uint32Array(30),
    durations: new Uint32Array(30).fill(3000),
    compositionOffsets: new Int32Array(30),
    keyframes: new Uint8Array(30),
  },
};
const END: IndexRecord = { type: 'segment_end', rendition: 0, durationTicks: 180_000 };
const read = (records: readonly IndexRecord[]) => readIndex([Buffer.concat(records.map(encodeRecord))]);

describe('the index of a recording', () => {
  it('has every segment with its place and its length', () => {
    const numbers = Array.from({ length: 200 }, (_, number) => number);
    const index = read([INIT, ...numbers.flatMap((number) => [segment(number), PART, PART, END])]);
    const source = index.rendition('source')!;
    assert.equal(source.completeCount, 200);
    assert.deepEqual(source.segments.at(150), {
      number: 150,
      startS: 300,
      durationS: 2,
      programDateTimeMs: 1_300_000,
      discontinuity: false,
      independent: true,
      init: 0,
      volume: 0,
      offset: 150_000,
      sizeBytes: 1000,
    });
    assert.deepEqual([source.data.durationS, source.data.sizeBytes, source.averageBps], [400, 200_000, 4000]);
    assert.deepEqual([source.framesPerSecond, source.data.peakBps], [30, 4000]);
  });

  it('announces the declared frame rate, and the measured one where that is higher', () => {
    const segments = (count: number) =>
      Array.from({ length: count }, (_, number) => [segment(number), PART, PART, END]).flat();
    const rate = (declaredFrameRate: number, count: number) =>
      read([{ ...INIT, track: { ...INIT.track, declaredFrameRate } as typeof INIT.track }, ...segments(count)])
        .renditions[0]!.framesPerSecond;
    assert.deepEqual([rate(15, 20), rate(29.97, 20), rate(60, 20)], [30, 29.97, 60]);
    assert.equal(rate(15, 1), 15, 'two seconds of frames may be a burst');
  });

  it('finds segments by number and by wall-clock time', () => {
    const { segments } = read([INIT, segment(0), PART, PART, END, segment(2), PART, PART, END]).renditions[0]!;
    assert.deepEqual(
      [0, 1, 2, 3].map((number) => segments.indexOf(number)),
      [0, -1, 1, -1],
    );
    const at = [0, 1_001_999, 1_002_000, 1_004_000, 1_005_999, 1_006_000].map((ms) => segments.indexAt(ms));
    assert.deepEqual(at, [0, 0, 1, 1, 1, 2]);
  });

  it('of a process that was killed counts the parts of its last segment, and no segment without parts', () => {
    const cut = read([INIT, segment(0), PART, PART, END, segment(1), PART]).renditions[0]!;
    assert.deepEqual([cut.completeCount, cut.segments.at(1)?.durationS, cut.data.durationS], [2, 1, 3]);
    assert.equal(read([INIT, segment(0), PART, PART, END, segment(1)]).renditions[0]!.completeCount, 1);
  });
});

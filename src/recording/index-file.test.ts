import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeRecord, readRecords } from './index-file.ts';
import type { IndexRecord } from './index-record.ts';

const whole = fc.integer({ min: 0, max: 2 ** 52 });
const small = fc.integer({ min: 0, max: 200 });
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
/** Records with the prototype that literals have. */
const plain = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { noNullPrototype: true });
const words = fc.string({ maxLength: 20 });

const track = fc.oneof(
  plain({
    kind: fc.constant('video' as const),
    codec: words,
    rfc6381: words,
    timescale: uint32,
    width: uint32,
    height: uint32,
    declaredFrameRate: fc.constantFrom(undefined, 25, 29.97, 60),
    videoRange: fc.constantFrom(undefined, 'SDR' as const, 'HLG' as const, 'PQ' as const),
  }),
  plain({
    kind: fc.constant('audio' as const),
    codec: words,
    rfc6381: words,
    timescale: uint32,
    channels: small,
    sampleRate: uint32,
  }),
);

const columns = fc
  .array(
    plain({
      size: uint32,
      duration: fc.oneof(fc.constant(3000), uint32),
      compositionOffset: fc.oneof(fc.constant(0), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
      keyframe: fc.integer({ min: 0, max: 1 }),
    }),
    { maxLength: 40 },
  )
  .map((samples) => ({
    sizes: Uint32Array.from(samples, ({ size }) => size),
    durations: Uint32Array.from(samples, ({ duration }) => duration),
    compositionOffsets: Int32Array.from(samples, ({ compositionOffset }) => compositionOffset),
    keyframes: Uint8Array.from(samples, ({ keyframe }) => keyframe),
  }));

const record: fc.Arbitrary<IndexRecord> = fc.oneof(
  plain({
    type: fc.constant('init' as const),
    rendition: small,
    id: words,
    number: small,
    track,
    bytes: fc.uint8Array({ maxLength: 800 }),
  }),
  plain({
    type: fc.constant('segment' as const),
    rendition: small,
    number: whole,
    volume: whole,
    offset: whole,
    init: small,
    startTicks: whole,
    programDateTimeMs: whole,
    discontinuity: fc.boolean(),
    independent: fc.boolean(),
  }),
  plain({
    type: fc.constant('part' as const),
    rendition: small,
    sizeBytes: uint32,
    moofBytes: uint32,
    crc32: uint32,
    offsetTicks: whole,
    samples: columns,
  }),
  plain({ type: fc.constant('segment_end' as const), rendition: small, durationTicks: whole }),
  plain({
    type: fc.constant('picture' as const),
    kind: fc.constantFrom('poster' as const, 'tile' as const),
    atMs: whole,
    period: small,
    offset: whole,
    sizeBytes: small,
  }),
  fc.constantFrom({ type: 'sync' } as const, { type: 'end' } as const),
);

function read(bytes: Uint8Array) {
  const records: IndexRecord[] = [];
  const sizeBytes = readRecords(bytes, (each) => records.push(each));
  return { records, sizeBytes };
}

describe('an index file', () => {
  it('gives back any records as they were written', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), (records) => {
        const bytes = Buffer.concat(records.map(encodeRecord));
        const found = read(bytes);
        assert.equal(found.sizeBytes, bytes.length);
        assert.deepEqual(found.records, records);
      }),
    );
  });

  it('that was cut anywhere gives the whole records before the cut', () => {
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 8 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (records, cut) => {
          const encoded = records.map(encodeRecord);
          const bytes = Buffer.concat(encoded);
          const cutAt = Math.floor(cut * bytes.length);
          let wholeBytes = 0;
          let count = 0;
          while (count < encoded.length && wholeBytes + encoded[count]!.length <= cutAt) {
            wholeBytes += encoded[count]!.length;
            count += 1;
          }
          assert.deepEqual(read(bytes.subarray(0, cutAt)), { records: records.slice(0, count), sizeBytes: wholeBytes });
        },
      ),
    );
  });

  it('with a damaged byte gives only records before it', () => {
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (records, place, change) => {
          const encoded = records.map(encodeRecord);
          const bytes = Buffer.concat(encoded);
          const at = place % bytes.length;
          bytes[at]! ^= change;
          const found = read(bytes);
          assert.ok(found.sizeBytes <= at);
          assert.deepEqual(found.records, records.slice(0, found.records.length));
        },
      ),
    );
  });

  it('of any bytes is read without an error, and never beyond its end', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        assert.ok(read(bytes).sizeBytes <= bytes.length);
      }),
    );
  });

  it('takes about 75 bytes for a part of ten video frames, and 45 for one of audio', () => {
    const sizes = Uint32Array.from({ length: 10 }, (_, index) => 8000 + 100 * index);
    const video = {
      type: 'part',
      rendition: 0,
      sizeBytes: 85_000,
      moofBytes: 240,
      crc32: 0xdeadbeef,
      offsetTicks: 90_000,
      samples: {
        sizes,
        durations: new Uint32Array(10).fill(3000),
        compositionOffsets: new Int32Array(10).fill(6000),
        keyframes: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
      },
    } as const;
    const audio = {
      ...video,
      samples: {
        sizes: new Uint32Array(15).fill(350),
        durations: new Uint32Array(15).fill(1024),
        compositionOffsets: new Int32Array(15),
        keyframes: new Uint8Array(15).fill(1),
      },
    };
    assert.ok(encodeRecord(video).length <= 80);
    assert.ok(encodeRecord(audio).length <= 64);
  });
});

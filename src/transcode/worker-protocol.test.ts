import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { ticks } from '#lib/units.ts';
import { markAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { FrameReader, FramingError, type StreamFrame } from './framing.ts';
import { planRenditions } from './rendition-plan.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';
import { decodeFromWorker, decodeToWorker, encodeFromWorker, encodeToWorker } from './worker-protocol.ts';

const time = fc.maxSafeInteger();
const bytes = fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array));
const index = fc.nat(255);
const picture = fc.constantFrom('poster' as const, 'tile' as const);

/** Makes plain objects, with a prototype like those in code. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(model, { noNullPrototype: true });

const toWorker: fc.Arbitrary<ToWorker> = fc.oneof(
  record({
    type: fc.constant('job' as const),
    job: record({ version: fc.nat(), preset: fc.string(), threads: fc.nat(), pictures: fc.array(picture) }),
  }),
  record({
    type: fc.constant('packet' as const),
    packet: fc
      .tuple(time, time, fc.boolean(), bytes, fc.option(fc.boolean(), { nil: undefined }))
      .map(([pts, dts, keyframe, data, discontinuity]) => ({
        kind: 'video' as const,
        pts: ticks(pts),
        dts: ticks(dts),
        keyframe,
        data,
        ...(discontinuity === undefined ? {} : { mark: markAt(0, { discontinuity }) }),
      })),
    afterGap: fc.boolean(),
  }),
  fc
    .tuple(time, fc.boolean())
    .map(([pts, begins]) => ({ type: 'held' as const, pts: ticks(pts), ...(begins ? { mark: markAt(0) } : {}) })),
  record({ type: fc.constant('audio' as const), packet: record({ pts: time, data: bytes }) }),
  record({
    type: fc.constant('audio_source' as const),
    source: record({
      codec: fc.constantFrom('aac', 'opus'),
      config: bytes,
      sampleRate: fc.nat(),
      channels: fc.nat(),
    }),
  }),
  record({ type: fc.constant('active' as const), renditions: fc.array(index, { maxLength: 20 }) }),
  fc.constant({ type: 'flush' as const }),
);

const fromWorker: fc.Arbitrary<FromWorker> = fc.oneof(
  record({ type: fc.constant('ready' as const), version: fc.nat() }),
  fc.constant({ type: 'begun' as const }),
  fc.constant({ type: 'out_of_memory' as const }),
  fc.constant({ type: 'missing' as const }),
  fc.constant({ type: 'audio_missing' as const }),
  fc.constant({ type: 'preparing' as const }),
  record({ type: fc.constant('failed' as const), rendition: index }),
  record({ type: fc.constant('config' as const), rendition: index, config: bytes }),
  record({
    type: fc.constant('packet' as const),
    packet: record({
      rendition: index,
      pts: time,
      dts: time,
      keyframe: fc.boolean(),
      marked: fc.boolean(),
      data: bytes,
    }),
  }),
  record({ type: fc.constant('audio_config' as const), config: bytes }),
  record({ type: fc.constant('audio' as const), packet: record({ pts: time, data: bytes }) }),
  record({
    type: fc.constant('picture' as const),
    kind: picture,
    pts: time,
    jpeg: bytes,
  }),
  record({ type: fc.constant('done' as const), count: fc.nat() }),
  record({
    type: fc.constant('health' as const),
    health: record({
      rssBytes: fc.nat(),
      cpuMs: fc.nat(),
      decodeErrors: fc.nat(),
      encodeErrors: fc.nat(),
      blackS: fc.nat(),
      frozenS: fc.nat(),
    }),
  }),
);

const read = (pieces: readonly Uint8Array[]): StreamFrame => [...new FrameReader().push(Buffer.concat(pieces))][0]!;

it('encodes and decodes every message of the server', () => {
  fc.assert(
    fc.property(toWorker, (message) => assert.deepEqual(decodeToWorker(read(encodeToWorker(message))), message)),
  );
});

it('encodes and decodes every message of a worker', () => {
  fc.assert(
    fc.property(fromWorker, (message) => assert.deepEqual(decodeFromWorker(read(encodeFromWorker(message))), message)),
  );
});

it('encodes and decodes a source with its configuration and renditions', () => {
  const profile = { name: 'p', bitrate: 1_000_000, fps: 15, width: 640, height: 360, quality: 20, gop: '1.0' };
  const { renditions } = planRenditions([profile], VIDEO_TRACK);
  const size = { width: 1280, height: 720 };
  const source = { codec: 'av1', config: Buffer.of(1, 2, 3), ...size, framesPerSecond: 29.97, renditions } as const;
  const message = { type: 'source', source } as const;
  assert.deepEqual(decodeToWorker(read(encodeToWorker(message))), message);
});

it('refuses everything else that a worker sends with a FramingError', () => {
  const anything = fc.record({
    type: index,
    payload: fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
  });
  fc.assert(
    fc.property(anything, (frame) => {
      for (const decode of [decodeFromWorker, decodeToWorker]) {
        try {
          decode(frame);
        } catch (error) {
          assert.ok(error instanceof FramingError, String(error));
        }
      }
    }),
  );
});

for (const [name, type, payload] of [
  ['an unknown type', 99, ''],
  ['a packet that ends in its header', 131, '\x00\x01'],
  ['unknown flags', 131, `\x00\xf0${'\x00'.repeat(16)}`],
  ['a time no number can hold', 131, `\x00\x00${'\x7f'.repeat(16)}`],
  ['health that is no JSON', 134, '{'],
  ['health that is null', 134, 'null'],
  ['health without its numbers', 134, '{"rssBytes":1,"cpuMs":"2","decodeErrors":3}'],
  ['a count that is cut short', 133, '\x00\x00'],
  ['a configuration of no rendition', 130, ''],
  ['health that is too long', 134, `{"rssBytes":1,"cpuMs":2,"decodeErrors":3}${' '.repeat(1024)}`],
  ['a poster that is too long', 132, '\x00'.repeat(1024 * 1024 + 1)],
  ['a tile that is too long', 140, '\x00'.repeat(65_537)],
  ['a picture without a time', 132, '\x00'],
  ['an audio packet that is too long', 137, '\x00'.repeat(65_537)],
] as const) {
  it(`refuses ${name} from a worker`, () => {
    assert.throws(() => decodeFromWorker({ type, payload: Buffer.from(payload, 'latin1') }), FramingError);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FrameReader, type StreamFrame } from './framing.ts';
import { decodeTestMedia, encodeMedia } from './test-picture-frames.ts';

test('packets are read as they were written', () => {
  const time = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });
  const data = fc.uint8Array({ minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(
      fc.constantFrom('video', 'audio'),
      time,
      time,
      fc.boolean(),
      data,
      (kind, pts, dts, keyframe, bytes) => {
        const written = Buffer.concat(encodeMedia(kind, { pts, dts, keyframe, data: bytes }));
        const [frame] = [...new FrameReader().push(written)];
        const media = decodeTestMedia(frame!);
        assert.deepEqual(media, { type: 'packet', packet: { kind, pts, dts, keyframe, data: Uint8Array.from(bytes) } });
      },
    ),
  );
});

test('any bytes are read as media or refused with an error', () => {
  fc.assert(
    fc.property(fc.nat(255), fc.uint8Array({ maxLength: 64 }), (type, payload) => {
      const frame: StreamFrame = { type, payload: Buffer.from(payload) };
      try {
        assert.ok(['track', 'packet'].includes(decodeTestMedia(frame).type));
      } catch (error) {
        assert.ok(error instanceof Error && /FramingError|InvalidCodecConfigError/.test(error.name), String(error));
      }
    }),
  );
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { FrameReader, FramingError, frameHeader, MAX_PAYLOAD_BYTES, type StreamFrame } from './framing.ts';

const frames = fc.array(fc.record({ type: fc.nat(255), payload: fc.uint8Array({ maxLength: 100 }) }), {
  maxLength: 20,
});

/** Splits the bytes at the given positions. */
function split(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...sorted, bytes.length].map((end, index) => bytes.subarray(sorted[index - 1] ?? 0, end));
}

function readAll(chunks: readonly Buffer[]): StreamFrame[] {
  const reader = new FrameReader();
  return chunks.flatMap((chunk) => [...reader.push(chunk)]);
}

it('reads the frames that were written, however the bytes are split', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.nat()), (sent, places) => {
      const bytes = Buffer.concat(sent.flatMap(({ type, payload }) => [frameHeader(type, payload.length), payload]));
      const read = readAll(split(bytes, places));
      assert.deepEqual(
        read.map(({ type, payload }) => ({ type, payload: [...payload] })),
        sent.map(({ type, payload }) => ({ type, payload: [...payload] })),
      );
    }),
  );
});

it('reads frames from random bytes or refuses them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat()), (bytes, places) => {
      try {
        const read = readAll(split(Buffer.from(bytes), places));
        assert.ok(read.reduce((sum, { payload }) => sum + payload.length + 5, 0) <= bytes.length);
      } catch (error) {
        assert.ok(error instanceof FramingError);
      }
    }),
  );
});

it('refuses a frame beyond the limit by its length, before its bytes arrive', () => {
  const reader = new FrameReader();
  assert.throws(() => [...reader.push(frameHeader(1, MAX_PAYLOAD_BYTES + 1))], FramingError);
  assert.deepEqual([...new FrameReader().push(frameHeader(1, MAX_PAYLOAD_BYTES))], []);
});

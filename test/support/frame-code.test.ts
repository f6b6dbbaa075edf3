import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { drawFrameCode, type FrameCode, readFrameCode } from './frame-code.ts';

const codes = fc.record(
  { counter: fc.nat({ max: 2 ** 24 - 1 }), drawnAtMs: fc.nat({ max: 2 ** 44 - 1 }) },
  { noNullPrototype: true },
);

function draw(code: FrameCode, width = 640, lineStride = width): Uint8Array {
  const plane = new Uint8Array(lineStride * 64).fill(90);
  drawFrameCode(plane, width, lineStride, code);
  return plane;
}

describe('a frame code', () => {
  it('is read back as drawn, at any width and line stride', () => {
    fc.assert(
      fc.property(codes, fc.integer({ min: 160, max: 640 }), fc.nat({ max: 64 }), (code, halfWidth, padding) => {
        const width = halfWidth * 2;
        const lineStride = width + padding;
        const data = draw(code, width, lineStride);
        assert.deepEqual(readFrameCode({ data, width, lineStride, pixelStride: 1 }), code);
      }),
      { numRuns: 50 },
    );
  });

  it('survives noise', () => {
    fc.assert(
      fc.property(codes, fc.integer(), (code, seed) => {
        const data = draw(code).map(
          (luma, index) => luma + (((index * 2_654_435_761 + seed) >>> 16) % 80) * (luma > 99 ? -1 : 1),
        );
        assert.deepEqual(readFrameCode({ data, width: 640, lineStride: 640, pixelStride: 1 }), code);
      }),
      { numRuns: 50 },
    );
  });

  it('is read from a canvas by a browser that has only the source text of the reading function', () => {
    const code = { counter: 12_345, drawnAtMs: 1_790_000_000_123 };
    const data = new Uint8ClampedArray([...draw(code)].flatMap((luma) => [luma, luma, luma, 255]));
    const pixels = { data, width: 640, lineStride: 2560, pixelStride: 4 };
    const read: unknown = runInNewContext(`(${String(readFrameCode)})(pixels)`, { pixels });
    assert.deepEqual({ ...(read as FrameCode) }, code);
  });

  it('is not read from a plain frame, nor from one with a wrong cell', () => {
    for (const luma of [0, 16, 90, 235, 255]) {
      const data = new Uint8Array(640 * 64).fill(luma);
      assert.equal(readFrameCode({ data, width: 640, lineStride: 640, pixelStride: 1 }), undefined);
    }
    for (let cell = 0; cell < 40; cell += 1) {
      const data = draw({ counter: 7, drawnAtMs: 1_790_000_000_123 });
      for (let line = 0; line < 16; line += 1) {
        const at = line * 640 + cell * 16;
        data.fill(data[at] === 16 ? 235 : 16, at, at + 16);
      }
      assert.equal(readFrameCode({ data, width: 640, lineStride: 640, pixelStride: 1 }), undefined);
    }
  });
});

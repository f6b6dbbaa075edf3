import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { adjoining, SampleMemory } from './sample-memory.ts';

describe('sample memory', () => {
  it('keeps samples unchanged, whatever their sizes, and whatever becomes of the memory they came from', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 9000 }), fc.integer({ min: 0, max: 70_000 })), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(sizes, (drawn) => {
        const memory = new SampleMemory('audio');
        const kept = drawn.map((size, index) => {
          const source = Buffer.alloc(size, index + 1);
          const sample = memory.keep(source);
          source.fill(0);
          return sample;
        });
        for (const [index, sample] of kept.entries()) {
          assert.ok(Buffer.alloc(drawn[index]!, index + 1).equals(sample), `sample ${index}`);
        }
        const runs = adjoining(kept.map((data) => ({ data })));
        assert.ok(Buffer.concat(runs).equals(Buffer.concat(kept)));
      }),
    );
  });

  it('puts samples next to each other until a slab is full', () => {
    const memory = new SampleMemory('audio');
    // After a sample as large as a slab may be, all slabs are that large.
    memory.keep(Buffer.alloc(32 * 1024));
    const slab = Array.from({ length: 32 }, () => ({ data: memory.keep(Buffer.alloc(1024)) }));
    const next = { data: memory.keep(Buffer.alloc(1)) };
    assert.equal(adjoining(slab).length, 1);
    assert.equal(adjoining([...slab, next]).length, 2);
  });

  it('takes at most twice the bytes of samples of one size, plus 4 KiB', () => {
    for (const [kind, sizeBytes] of [
      ['audio', 90],
      ['video', 330],
      ['video', 12_000],
    ] as const) {
      const memory = new SampleMemory(kind);
      const slabs = new Set<ArrayBufferLike>();
      let keptBytes = 0;
      let takenBytes = 0;
      for (let count = 0; count < 200; count += 1) {
        const { buffer } = memory.keep(Buffer.alloc(sizeBytes));
        if (!slabs.has(buffer)) takenBytes += buffer.byteLength;
        slabs.add(buffer);
        keptBytes += sizeBytes;
        assert.ok(takenBytes <= 2 * keptBytes + 4096, `${takenBytes} bytes for ${keptBytes} of ${kind}`);
      }
    }
  });

  it('gives a sample larger than a slab memory of exactly its size', () => {
    const sample = new SampleMemory('audio').keep(Buffer.alloc(100_000));
    assert.equal(sample.buffer.byteLength, 100_000);
  });
});

describe('joining samples', () => {
  const all = Uint8Array.of(1, 2, 3, 4, 5, 6);
  const views = (...ranges: readonly (readonly [number, number])[]) =>
    ranges.map(([start, end]) => ({ data: all.subarray(start, end) }));

  it('joins only what is next to each other in this order', () => {
    assert.deepEqual(adjoining(views([0, 2], [2, 4], [4, 6])), [all]);
    assert.deepEqual(adjoining(views([2, 4], [0, 2])), [Uint8Array.of(3, 4), Uint8Array.of(1, 2)]);
    assert.deepEqual(adjoining(views([0, 2], [0, 2])), [Uint8Array.of(1, 2), Uint8Array.of(1, 2)]);
    assert.deepEqual(adjoining([...views([0, 3]), { data: Uint8Array.of(4) }]).length, 2);
    assert.deepEqual(adjoining([]), []);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AudioBlocks } from './audio-blocks.ts';

const BLOCK = 16;
const RATE = 1000;

function setUp(continuesAt?: number) {
  const blocks: { pts: number; left: number[]; right: number[] }[] = [];
  const breaks: number[] = [];
  const audioBlocks = new AudioBlocks({
    channels: 2,
    sampleRate: RATE,
    blockSamples: BLOCK,
    continuesAt,
    onBlock: ([left, right], pts) => blocks.push({ pts, left: [...left!], right: [...right!] }),
    onBreak: () => breaks.push(blocks.length),
  });
  /** Pushes samples whose values are their times. */
  const push = (pts: number, length: number) => {
    const left = Float32Array.from({ length }, (_, index) => pts + index);
    audioBlocks.push([left, left.map((sample) => 1e6 - sample)], pts);
  };
  return { audioBlocks, push, blocks, breaks };
}

test('audio of any lengths becomes blocks of one size, with each sample at its time', () => {
  fc.assert(
    fc.property(
      fc.nat(5000),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }),
      (start, lengths) => {
        const { audioBlocks, push, blocks, breaks } = setUp();
        let at = start;
        for (const length of lengths) {
          push(at, length);
          at += length;
        }
        audioBlocks.finish();
        assert.deepEqual(breaks, []);
        assert.equal(blocks.length, Math.ceil((at - start) / BLOCK));
        for (const [index, { pts, left, right }] of blocks.entries()) {
          assert.equal(pts, start + index * BLOCK);
          const expected = Array.from({ length: BLOCK }, (_, sample) => (pts + sample < at ? pts + sample : 0));
          assert.deepEqual(left, expected);
          assert.deepEqual(
            right,
            expected.map((sample, index) => (pts + index < at ? 1e6 - sample : 0)),
          );
        }
      },
    ),
  );
});

test('a short hole becomes silence', () => {
  const { audioBlocks, push, blocks, breaks } = setUp();
  push(100, 10);
  push(150, 14);
  audioBlocks.finish();
  const samples = blocks.flatMap(({ left }) => left);
  assert.deepEqual(breaks, []);
  assert.equal(samples.length, 64);
  for (const [index, sample] of samples.entries()) {
    assert.equal(sample, index < 10 || index >= 50 ? 100 + index : 0);
  }
});

test('a long hole ends the audio before it, and the audio after it begins again at its own time', () => {
  const { audioBlocks, push, blocks, breaks } = setUp();
  push(100, 10);
  push(100 + 10 + RATE + 1, 20);
  audioBlocks.finish();
  assert.deepEqual(breaks, [1]);
  assert.deepEqual(
    blocks.map(({ pts }) => pts),
    [100, 1111, 1127],
  );
});

test('a hole is reported as too long before the audio that ends it comes, and only once', () => {
  const { audioBlocks, push, blocks, breaks } = setUp();
  push(100, 10);
  assert.equal(audioBlocks.passTo(110 + RATE), false);
  assert.deepEqual(breaks, []);
  assert.equal(audioBlocks.passTo(111 + RATE), true);
  assert.deepEqual([breaks, blocks.length], [[1], 1]);
  assert.equal(audioBlocks.passTo(110 + 3 * RATE), false);
  push(110 + 4 * RATE, BLOCK);
  assert.deepEqual([breaks, blocks.at(-1)?.pts], [[1], 110 + 4 * RATE]);
});

test('overlapping audio is appended', () => {
  const { push, blocks } = setUp();
  push(100, 10);
  push(105, 22);
  assert.deepEqual(
    blocks.map(({ pts }) => pts),
    [100, 116],
  );
  assert.equal(blocks[0]!.left[10], 105);
});

test('the audio of an earlier worker is continued after a short pause, and not after a long one', () => {
  const soon = setUp(100);
  soon.push(120, 12);
  assert.deepEqual(
    soon.blocks.map(({ pts, left }) => [pts, left.findIndex((sample) => sample > 0)]),
    [
      [100, -1],
      [116, 4],
    ],
  );
  const late = setUp(100);
  late.push(100 + RATE + 1, BLOCK);
  assert.deepEqual(
    late.blocks.map(({ pts }) => pts),
    [101 + RATE],
  );
});

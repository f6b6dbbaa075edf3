import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fuzzer, type FuzzerOptions } from './fuzzer.ts';
import { behaviour, type Target } from './target.ts';

class ExpectedError extends Error {}

const timeless: Omit<FuzzerOptions, 'seed'> = { now: () => 0, busyMs: () => 0 };

/** Makes a target whose parser is a function. */
const targetOf = (read: (input: Buffer) => number | Promise<number>, changes: Partial<Target> = {}): Target => ({
  name: 'sample',
  corpus: [Buffer.from('seed of the corpus')],
  expected: [ExpectedError],
  open: () => ({ read }),
  ...changes,
});

async function fuzz(target: Target, count: number, options: Partial<FuzzerOptions> = {}) {
  const fuzzer = new Fuzzer(target, await target.open(), { seed: 1, ...timeless, ...options });
  await fuzzer.run(count);
  return fuzzer.report;
}

test('an error that a target does not expect is reported once, with an input that repeats it', async () => {
  const crashes = (input: Buffer) => input.includes(0);
  const target = targetOf((input) => {
    if (crashes(input)) throw new TypeError(`broke at ${input.indexOf(0)}`);
    throw new ExpectedError('as documented');
  });
  const { inputs, findings } = await fuzz(target, 2000);
  assert.equal(inputs, 2000);
  assert.equal(findings.length, 1);
  assert.equal(findings[0]!.kind, 'crash');
  assert.ok(crashes(Buffer.from(findings[0]!.input)));
  assert.match(findings[0]!.what, /TypeError: broke at \d+\n +at /);
});

test('a promise that is rejected counts as an error that is thrown', async () => {
  const { findings } = await fuzz(
    targetOf(async () => Promise.reject(new RangeError('later'))),
    50,
  );
  assert.deepEqual(
    findings.map(({ kind }) => kind),
    ['crash'],
  );
});

test('an input that takes long every time is reported, and one that took long once is not', async () => {
  let clock = 0;
  let reads = 0;
  const slowEach = targetOf((input) => {
    if (input.includes(0)) clock += 25;
    return 0;
  });
  const slowOnce = targetOf(() => {
    reads += 1;
    if (reads === 20) clock += 1000;
    return 0;
  });
  const clocks = { now: () => clock, busyMs: () => clock };
  const slow = await fuzz(slowEach, 2000, clocks);
  assert.deepEqual(
    slow.findings.map(({ kind }) => kind),
    ['slow'],
  );
  assert.equal(slow.slowestMs, 25);
  const quick = await fuzz(slowOnce, 2000, clocks);
  assert.deepEqual(quick.findings, []);
  assert.equal(quick.slowestMs, 0);
});

test('the same seed makes the same inputs, and another seed makes different ones', async () => {
  const inputsOf = async (seed: number) => {
    const inputs: string[] = [];
    const target = targetOf((input) => behaviour(input.length), { dictionary: ['token'] });
    await fuzz(target, 500, { seed, onInput: (input) => inputs.push(input.toString('hex')) });
    return inputs;
  };
  assert.deepEqual(await inputsOf(3), await inputsOf(3));
  assert.notDeepEqual(await inputsOf(3), await inputsOf(4));
});

test('inputs that lead to new behaviour are mutated further, so that four bytes which must all be right are found one by one', async () => {
  const rightHalves = [5, 13, 9, 11];
  const corpus = [Buffer.from('....')];
  const deepestOf = async (behaviourOf: (depth: number) => number) => {
    let deepest = 0;
    const read = (input: Buffer) => {
      const wrongAt = rightHalves.findIndex((half, at) => input[at] === undefined || input[at] >> 4 !== half);
      const right = wrongAt === -1 ? rightHalves.length : wrongAt;
      deepest = Math.max(deepest, right);
      return behaviourOf(right);
    };
    await fuzz(targetOf(read, { corpus }), 60_000);
    return deepest;
  };
  assert.equal(await deepestOf((depth) => depth), 4);
  const unguided = await deepestOf(() => 0);
  assert.ok(unguided < 4, 'mutation gets as far without guidance, so this test shows nothing');
});

test('no input is longer than a target takes', async () => {
  let longest = 0;
  const read = (input: Buffer) => {
    longest = Math.max(longest, input.length);
    return behaviour(input.length);
  };
  await fuzz(targetOf(read, { maxBytes: 40, dictionary: ['a token of some length'] }), 20_000);
  assert.equal(longest, 40);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import { type Shareable, SharedAnswers } from './shared-answers.ts';

interface Text extends Shareable {
  readonly text: string;
}

/** Shared answers with requests that the test answers. */
function setUp() {
  const world = { now: 0, asked: [] as { signal: AbortSignal; answer: PromiseWithResolvers<Text> }[] };
  const clock = { now: () => ms(world.now), monotonic: () => ms(world.now) };
  const answers = new SharedAnswers<Text>({ maxKeptBytes: 100, clock });
  const ask = (signal: AbortSignal) => {
    const answer = Promise.withResolvers<Text>();
    world.asked.push({ signal, answer });
    return answer.promise;
  };
  const get = (name: string, signal = new AbortController().signal) => answers.get(name, ask, { signal });
  return { answers, ask, get, world };
}

const text = (value: string, keptForMs = 1000, sizeBytes = 10): Text => ({ text: value, keptForMs, sizeBytes });

test('a thousand requests for the same answer share one question and its answer', async () => {
  const { get, world } = setUp();
  const all = Array.from({ length: 1000 }, () => get('a'));
  const another = get('b');
  assert.equal(world.asked.length, 2);
  world.asked[0]!.answer.resolve(text('A'));
  world.asked[1]!.answer.resolve(text('B'));
  assert.deepEqual(new Set((await Promise.all(all)).map((answer) => answer.text)), new Set(['A']));
  assert.equal((await another).text, 'B');
});

test('an answer is kept for as long as it allows and given without waiting, and an error is not kept', async () => {
  const { answers, ask, get, world } = setUp();
  const first = get('a');
  world.asked[0]!.answer.resolve(text('A'));
  await first;
  world.now = 999;
  const waiting = {
    get signal(): AbortSignal {
      throw new Error('no place is needed');
    },
  };
  assert.equal((await answers.get('a', ask, waiting)).text, 'A');
  world.now = 1000;
  const [one, other] = [get('a'), get('a')];
  world.asked[1]!.answer.reject(new Error('away'));
  await assert.rejects(one, /away/);
  await assert.rejects(other, /away/);
  void get('a');
  assert.equal(world.asked.length, 3);
});

test('a request is aborted when the last waiting caller leaves, and not earlier, and the next call makes a new one', async () => {
  const { get, world } = setUp();
  const [first, last] = [new AbortController(), new AbortController()];
  const [one, other] = [get('a', first.signal), get('a', last.signal)];
  first.abort(new Error('left'));
  await assert.rejects(one, /left/);
  assert.equal(world.asked[0]!.signal.aborted, false);
  last.abort(new Error('left'));
  await assert.rejects(other, /left/);
  assert.equal(world.asked[0]!.signal.aborted, true);
  const anew = get('a');
  world.asked[0]!.answer.reject(new Error('aborted'));
  world.asked[1]!.answer.resolve(text('A'));
  assert.equal((await anew).text, 'A');
});

test('when the kept answers exceed their limit in bytes, the oldest is dropped', async () => {
  const { get, world } = setUp();
  for (const name of ['a', 'b', 'c']) {
    const answer = get(name);
    world.asked.at(-1)!.answer.resolve(text(name, 1000, 40));
    await answer;
  }
  await Promise.all([get('b'), get('c')]);
  assert.equal(world.asked.length, 3);
  void get('a');
  assert.equal(world.asked.length, 4);
});

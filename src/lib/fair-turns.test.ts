import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FairTurns, type FairTurnsOptions } from './fair-turns.ts';

/** Work that ends when the test says so, in the order in which it began. */
function work() {
  const begun: { readonly name: string; readonly end: () => void }[] = [];
  const start = (name: string) => async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push({ name, end: resolve });
    await promise;
    return name;
  };
  const names = () => begun.map(({ name }) => name);
  const end = async (index: number) => {
    begun[index]!.end();
    await turn();
  };
  return { start, names, end };
}

const refusal = () => new Error('too much');
/** Turns for one piece of work at a time. */
const oneAtATime = (options: Partial<FairTurnsOptions> = {}) =>
  new FairTurns({ atOnce: 1, waiting: 200, waitingOfHost: 20, refusal, ...options });

test('only so much is done at once, and networks take turns however much one of them asks for', async () => {
  const turns = oneAtATime();
  const { start, names, end } = work();
  const done = [
    ...['a1', 'a2', 'a3'].map((name) => turns.run('198.51.100.1', start(name))),
    turns.run('203.0.113.9', start('b1')),
  ];
  assert.deepEqual(names(), ['a1']);
  for (let index = 0; index < 4; index += 1) await end(index);
  assert.deepEqual(names(), ['a1', 'a2', 'b1', 'a3']);
  assert.deepEqual(await Promise.all(done), ['a1', 'a2', 'a3', 'b1']);
});

test('one network may have only so many requests waiting, and others still wait for their turn', async () => {
  const turns = oneAtATime();
  const { start, names, end } = work();
  const many = Array.from({ length: 30 }, (_, index) => turns.run('198.51.100.1', start(`a${index}`)));
  const settled = Promise.allSettled(many);
  const other = turns.run('203.0.113.9', start('b'));
  for (let index = 0; index < 22; index += 1) await end(index);
  assert.ok(names().includes('b'));
  assert.equal(await other, 'b');
  const refused = (await settled).filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  assert.equal(refused.length, 9);
  for (const { reason } of refused) assert.equal((reason as Error).message, 'too much');
});

test('work that fails, and a viewer that has left, hand their turn over', async () => {
  const turns = oneAtATime();
  const { start, names, end } = work();
  const leaving = new AbortController();
  const failing = turns.run('198.51.100.1', () => Promise.reject(new Error('broken')));
  const left = turns.run('198.51.100.1', start('left'), leaving.signal);
  const last = turns.run('198.51.100.1', start('last'));
  leaving.abort(new Error('the viewer left'));
  await assert.rejects(failing, /broken/);
  await assert.rejects(left, /the viewer left/);
  await turn();
  assert.deepEqual(names(), ['last']);
  await end(0);
  assert.equal(await last, 'last');
  const again = turns.run('198.51.100.1', start('again'));
  await end(1);
  assert.equal(await again, 'again');
});

test('when all places are taken, a newcomer gets the oldest place of the network with the most', async () => {
  const turns = oneAtATime({ waiting: 3 });
  const { start, names, end } = work();
  const settled = Promise.allSettled(['a0', 'a1', 'a2', 'a3'].map((name) => turns.run('198.51.100.1', start(name))));
  const other = turns.run('203.0.113.9', start('b'));
  await assert.rejects(turns.run('198.51.100.1', start('a4')), /too much/);
  for (let index = 0; index < 4; index += 1) await end(index);
  assert.equal(await other, 'b');
  assert.deepEqual(names(), ['a0', 'a2', 'b', 'a3']);
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
});

test('work that has waited too long is refused, and its turn goes to the next', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = oneAtATime({ longestWaitMs: 5000 });
  const { start, names, end } = work();
  const first = turns.run('198.51.100.1', start('first'));
  const late = assert.rejects(turns.run('203.0.113.9', start('late')), /too much/);
  t.mock.timers.tick(5000);
  await late;
  const last = turns.run('198.51.100.1', start('last'));
  await end(0);
  assert.deepEqual(names(), ['first', 'last']);
  await end(1);
  assert.deepEqual(await Promise.all([first, last]), ['first', 'last']);
});

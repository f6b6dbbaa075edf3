import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { MillraceError } from '#domain/errors.ts';
import { FairTurns } from './fair-turns.ts';

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

const { signal: never } = new AbortController();

test('only so much is done at once, and networks take turns however much one of them asks for', async () => {
  const turns = new FairTurns(1);
  const { start, names, end } = work();
  const done = [
    ...['a1', 'a2', 'a3'].map((name) => turns.run('198.51.100.1', never, start(name))),
    turns.run('203.0.113.9', never, start('b1')),
  ];
  assert.deepEqual(names(), ['a1']);
  for (let index = 0; index < 4; index += 1) await end(index);
  assert.deepEqual(names(), ['a1', 'a2', 'b1', 'a3']);
  assert.deepEqual(await Promise.all(done), ['a1', 'a2', 'a3', 'b1']);
});

test('one network may have only so many requests waiting, and others still wait for their turn', async () => {
  const turns = new FairTurns(1);
  const { start, names, end } = work();
  const many = Array.from({ length: 30 }, (_, index) => turns.run('198.51.100.1', never, start(`a${index}`)));
  const settled = Promise.allSettled(many);
  const other = turns.run('203.0.113.9', never, start('b'));
  for (let index = 0; index < 22; index += 1) await end(index);
  assert.ok(names().includes('b'));
  assert.equal(await other, 'b');
  const refused = (await settled).filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  assert.equal(refused.length, 9);
  for (const { reason } of refused) assert.equal((reason as MillraceError).code, 'too_many_viewers');
});

test('work that fails, and a viewer that has left, hand their turn over', async () => {
  const turns = new FairTurns(1);
  const { start, names, end } = work();
  const leaving = new AbortController();
  const failing = turns.run('198.51.100.1', never, () => Promise.reject(new Error('broken')));
  const left = turns.run('198.51.100.1', leaving.signal, start('left'));
  const last = turns.run('198.51.100.1', never, start('last'));
  leaving.abort(new Error('the viewer left'));
  await assert.rejects(failing, /broken/);
  await assert.rejects(left, /the viewer left/);
  await turn();
  assert.deepEqual(names(), ['last']);
  await end(0);
  assert.equal(await last, 'last');
  const again = turns.run('198.51.100.1', never, start('again'));
  await end(1);
  assert.equal(await again, 'again');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import { Slots } from './slots.ts';

const [ann, bob] = [newUserId(), newUserId()];

/** Requests slots and records who got one, in order. */
function setUp(limits: { readonly total: number; readonly perUser: number }) {
  const slots = new Slots(limits);
  const got: string[] = [];
  const held: Disposable[] = [];
  const ask = (name: string) =>
    void slots.take(name.startsWith('ann') ? ann : bob).then((slot) => {
      got.push(name);
      held.push(slot);
    });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { slots, got, held, ask, turn };
}

test('a user with many requests takes turns with others when slots are scarce', async () => {
  const { got, held, ask, turn } = setUp({ total: 1, perUser: 9 });
  for (const name of ['ann1', 'ann2', 'ann3', 'bob1', 'bob2']) ask(name);
  for (let given = 0; given < 5; given += 1) {
    await turn();
    held[given]![Symbol.dispose]();
  }
  assert.deepEqual(got, ['ann1', 'ann2', 'bob1', 'ann3', 'bob2']);
});

test('no user has more than its share, however many slots are free', async () => {
  const { slots, got, held, ask, turn } = setUp({ total: 9, perUser: 2 });
  for (const name of ['ann1', 'ann2', 'ann3', 'bob1']) ask(name);
  await turn();
  assert.deepEqual([got, slots.taken], [['ann1', 'ann2', 'bob1'], 3]);
  held[0]![Symbol.dispose]();
  await turn();
  assert.deepEqual([got.at(-1), slots.taken], ['ann3', 3]);
});

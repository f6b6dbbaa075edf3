import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairQueue } from './fair-queue.ts';

/** Everything that waits, in the order in which it is taken. */
function drained<Item>(queue: FairQueue<Item>): Item[] {
  const items: Item[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) items.push(item);
  return items;
}

describe('a fair queue', () => {
  it('gives the items of one network in the order they came', () => {
    const queue = new FairQueue<number>();
    for (const item of [3, 1, 2]) queue.add('a', item);
    assert.equal(queue.size, 3);
    assert.deepEqual(drained(queue), [3, 1, 2]);
    assert.equal(queue.size, 0);
  });

  it('gives one item of each network in turn, however many one of them has added', () => {
    const queue = new FairQueue<string>();
    for (let each = 0; each < 1000; each += 1) queue.add('many', `many ${each}`);
    queue.add('few', 'few 0');
    queue.add('one', 'one 0');
    queue.add('few', 'few 1');
    assert.deepEqual(drained(queue).slice(0, 6), ['many 0', 'few 0', 'one 0', 'many 1', 'few 1', 'many 2']);
  });

  it('gives no second turn to a network that comes back at once', () => {
    const queue = new FairQueue<string>();
    queue.add('a', 'a 0');
    queue.add('b', 'b 0');
    assert.equal(queue.take(), 'a 0');
    queue.add('a', 'a 1');
    assert.deepEqual(drained(queue), ['b 0', 'a 1']);
  });

  it('holds an item once', () => {
    const queue = new FairQueue<string>();
    queue.add('a', 'x');
    queue.add('a', 'x');
    assert.deepEqual(drained(queue), ['x']);
  });

  it('gives the items of one network out of its turn', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a 0', 'b 0', 'b 1']) queue.add(item[0]!, item);
    assert.equal(queue.takeOf('b'), 'b 0');
    assert.equal(queue.takeOf('c'), undefined);
    assert.deepEqual(drained(queue), ['a 0', 'b 1']);
  });

  it('forgets an item that is removed, and a network without any', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a 0', 'a 1']) queue.add('a', item);
    queue.add('b', 'b 0');
    queue.remove('a', 'a 0');
    queue.remove('b', 'b 0');
    queue.remove('b', 'b 0');
    assert.equal(queue.size, 1);
    assert.deepEqual(drained(queue), ['a 1']);
  });
});

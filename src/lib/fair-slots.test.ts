import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FairSlots } from './fair-slots.ts';

test('anybody takes a free place, and gives it back', () => {
  const slots = new FairSlots<string>(3);
  for (const holder of ['a', 'b', 'c']) assert.deepEqual(slots.enter(holder, '192.0.2.1').admitted, true);
  assert.equal(slots.size, 3);
  assert.equal(slots.ofHost('192.0.2.1'), 3);
  slots.leave('b');
  slots.leave('nobody');
  assert.equal(slots.size, 2);
  assert.deepEqual([...slots.holders()], ['a', 'c']);
});

test('when all are taken, the host with the most places loses its oldest one to another host', () => {
  const slots = new FairSlots<string>(3);
  for (const holder of ['a1', 'a2']) slots.enter(holder, '192.0.2.1');
  slots.enter('b1', '198.51.100.1');
  assert.deepEqual(slots.enter('c1', '203.0.113.1'), { admitted: true, evicted: 'a1' });
  assert.deepEqual([...slots.holders()], ['a2', 'b1', 'c1']);
});

test('the host that holds the most places is refused another one', () => {
  const slots = new FairSlots<string>(3);
  for (const holder of ['a1', 'a2']) slots.enter(holder, '192.0.2.1');
  slots.enter('b1', '198.51.100.1');
  assert.deepEqual(slots.enter('a3', '192.0.2.1'), { admitted: false });
  assert.equal(slots.size, 3);
});

test('the hosts of one site count together against other sites', () => {
  const slots = new FairSlots<string>(6);
  for (let host = 1; host <= 5; host++) slots.enter(`a${host}`, `192.0.2.${host}`);
  slots.enter('b1', '198.51.100.1');
  assert.deepEqual(slots.enter('b2', '198.51.100.2'), { admitted: true, evicted: 'a1' });
  assert.deepEqual(slots.enter('a6', '192.0.2.200'), { admitted: false });
  const prefix = '2001:db8:1';
  const v6 = new FairSlots<string>(2);
  v6.enter('a1', `${prefix}:1::1`);
  v6.enter('a2', `${prefix}:2::1`);
  assert.deepEqual(v6.enter('a3', `${prefix}:3::1`), { admitted: false }, 'one /48 is one site');
  assert.deepEqual(v6.enter('b1', '2001:db8:2::1'), { admitted: true, evicted: 'a1' });
});

test('a host without a place gets one from a neighbour in its site that holds all of them', () => {
  const slots = new FairSlots<string>(3);
  for (const holder of ['a1', 'a2', 'a3']) slots.enter(holder, '192.0.2.1');
  assert.deepEqual(slots.enter('b1', '192.0.2.2'), { admitted: true, evicted: 'a1' });
});

test('a holder that enters again becomes the newest and evicts nobody', () => {
  const slots = new FairSlots<string>(2);
  for (const holder of ['a1', 'a2']) slots.enter(holder, '192.0.2.1');
  assert.deepEqual(slots.enter('a1', '192.0.2.1'), { admitted: true, evicted: undefined });
  assert.deepEqual(slots.enter('b1', '198.51.100.1'), { admitted: true, evicted: 'a2' });
});

test('whatever comes and goes, the limit holds and a host within its share of the places is never refused', () => {
  const action = fc.record({ host: fc.integer({ min: 1, max: 5 }), isLeaving: fc.boolean() });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const limit = 10;
      const slots = new FairSlots<number>(limit);
      for (const [id, { host, isLeaving }] of actions.entries()) {
        const address = `192.0.${host}.1`;
        if (isLeaving) {
          const [oldest] = slots.holders();
          if (oldest !== undefined) slots.leave(oldest);
          continue;
        }
        const held = slots.ofHost(address);
        const { admitted } = slots.enter(id, address);
        // There are five hosts at most: while one holds fewer than two places, another holds more.
        assert.ok(admitted || held >= limit / 5);
        assert.equal(slots.ofHost(address), admitted ? held + 1 : held);
        assert.ok(slots.size <= limit);
        assert.equal([...slots.holders()].length, slots.size);
      }
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { MemoryAccount, MemoryHolder, MemoryUser } from './hls.ts';
import { createMediaMemory } from './media-memory.ts';
import { shareOf } from './memory-shares.ts';

/** A session that holds memory. It frees retired media oldest first. */
class Holder implements MemoryHolder {
  readonly user: MemoryUser;
  account!: MemoryAccount;
  retired: number[] = [];
  /** The number of times that it had to free memory. */
  paid = 0;
  isOver = false;

  constructor(user: MemoryUser) {
    this.user = user;
  }

  giveBackRetired(): boolean {
    const sizeBytes = this.retired.shift();
    if (sizeBytes === undefined) return false;
    this.paid += 1;
    this.account.give(sizeBytes);
    return true;
  }

  giveUp(): void {
    this.paid += 1;
    this.isOver = true;
    this.account[Symbol.dispose]();
  }
}

const userOf = (id: string, quotaBytes = Number.POSITIVE_INFINITY): MemoryUser => ({ id, quotaBytes });

function setUp(limitBytes: number) {
  const memory = createMediaMemory(limitBytes);
  const open = (user: MemoryUser): Holder => {
    const holder = new Holder(user);
    holder.account = memory.open(user, holder);
    return holder;
  };
  return { memory, open };
}

test('memory is taken up to its limit, freed, and taken again', () => {
  const { memory, open } = setUp(100);
  const { account } = open(userOf('a'));
  assert.deepEqual([account.take(60), account.take(41), account.take(40), memory.usedBytes], [true, false, true, 100]);
  account.give(60);
  assert.deepEqual([account.take(61), account.take(60), memory.usedBytes], [false, true, 100]);
  account[Symbol.dispose]();
  account.give(100);
  assert.deepEqual([account.usedBytes, memory.usedBytes, account.take(1)], [0, 0, false]);
});

test('four large sessions of one user make room for a small one of another user, the largest first', () => {
  const { memory, open } = setUp(1000);
  const fat = [100, 300, 350, 250].map((sizeBytes) => {
    const holder = open(userOf('fat'));
    assert.ok(holder.account.take(sizeBytes));
    return holder;
  });
  const victim = open(userOf('victim'));
  for (let taken = 0; taken < 450; taken += 10) assert.ok(victim.account.take(10));
  assert.equal(victim.paid, 0);
  assert.deepEqual(
    fat.map(({ isOver }) => isOver),
    [false, true, true, false],
  );
  assert.ok(memory.usedBytes <= 1000);
});

test('media that no playlist lists is freed before a session is ended', () => {
  const { open } = setUp(1000);
  const fat = open(userOf('fat'));
  assert.ok(fat.account.take(1000));
  fat.retired = [200, 200];
  const small = open(userOf('small'));
  assert.ok(small.account.take(300));
  assert.deepEqual([fat.isOver, fat.account.usedBytes], [false, 600]);
});

test('a session that would take its user beyond the quota gets no memory, although there is memory left', () => {
  const { memory, open } = setUp(1000);
  const other = open(userOf('other'));
  assert.ok(other.account.take(100));
  const limited = open(userOf('limited', 200));
  assert.deepEqual([limited.account.take(200), limited.account.take(1)], [true, false]);
  assert.deepEqual([other.paid, memory.usedBytes], [0, 300]);
});

test('when the memory is full, a user below its share gets some, and a user above its share does not', () => {
  const { memory, open } = setUp(1000);
  const fat = userOf('fat');
  assert.ok(open(fat).account.take(1000));
  assert.equal(memory.hasRoomFor(fat), false);
  assert.equal(memory.hasRoomFor(userOf('new')), true);
  const limited = userOf('limited', 100);
  const { memory: empty, open: openThere } = setUp(1000);
  assert.ok(openThere(limited).account.take(95));
  assert.equal(empty.hasRoomFor(limited), false, 'the quota of the user is almost used up');
});

test('for any sequence of taking and freeing, no user within its share ever has to free memory, and the limit holds', () => {
  const limitBytes = 1000;
  const users = [userOf('a'), userOf('b'), userOf('c', 150), userOf('d', 700)];
  const step = fc.record({
    what: fc.constantFrom('open', 'take', 'take', 'take', 'give', 'retire', 'close'),
    user: fc.nat({ max: users.length - 1 }),
    which: fc.nat({ max: 3 }),
    sizeBytes: fc.integer({ min: 1, max: 400 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { memory, open } = setUp(limitBytes);
      let holders: Holder[] = [];
      const usedBy = (user: MemoryUser) =>
        holders.reduce((sum, each) => sum + (each.user === user ? each.account.usedBytes : 0), 0);
      for (const { what, user: index, which, sizeBytes } of steps) {
        const user = users[index]!;
        const own = holders.filter((each) => each.user === user);
        const holder = own[which % Math.max(1, own.length)];
        if (what === 'open') holders.push(open(user));
        if (holder === undefined) continue;
        const { account } = holder;
        if (what === 'give' && account.usedBytes > 0) {
          account.give(1);
          holder.retired = [];
        }
        if (what === 'retire') holder.retired = [Math.floor(account.usedBytes / 2)].filter((each) => each > 0);
        if (what === 'close') account[Symbol.dispose]();
        if (what === 'take') {
          const count = new Set(holders.map((each) => each.user)).size;
          const isAbove = (each: MemoryUser) =>
            usedBy(each) + (each === user ? sizeBytes : 0) > shareOf(each.quotaBytes, { limitBytes, users: count });
          const above = new Set(users.filter(isAbove));
          const paidBefore = new Map(holders.map((each) => [each, each.paid]));
          const taken = account.take(sizeBytes);
          for (const each of holders) if (each.paid > paidBefore.get(each)!) assert.ok(above.has(each.user));
          if (!taken) assert.ok(above.has(user));
        }
        holders = holders.filter((each) => !each.isOver && !(what === 'close' && each === holder));
        assert.ok(memory.usedBytes <= limitBytes);
        assert.equal(
          memory.usedBytes,
          users.reduce((sum, each) => sum + usedBy(each), 0),
        );
        for (const each of users) assert.ok(usedBy(each) <= each.quotaBytes);
      }
    }),
  );
});

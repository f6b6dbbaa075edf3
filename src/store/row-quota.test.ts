import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { RowQuota } from './row-quota.ts';

/** The quotas of several processes that share the same rows, with a clock that the test sets. */
function setUp(processes = 1) {
  const world = { rows: 0, counts: 0, counted: 0, now: 0 };
  const quotas = Array.from(
    { length: processes },
    () =>
      new RowQuota({
        what: 'things',
        count: async (_user, atMost) => {
          world.counts += 1;
          const counted = Math.min(world.rows, atMost);
          world.counted += counted;
          return counted;
        },
        clock: { now: () => ms(world.now), monotonic: () => ms(world.now) },
      }),
  );
  const add = async () => {
    await Promise.resolve();
    world.rows += 1;
  };
  return { world, quotas, add };
}

const user = newUserId();

test('far below the quota, rows are counted rarely, so that few are read for each create', async () => {
  const readPerCreate: number[] = [];
  for (const atMost of [2000, 20_000]) {
    const { world, quotas, add } = setUp();
    for (let n = 0; n < atMost / 2; n += 1) await quotas[0]!.create(user, atMost, add);
    readPerCreate.push(world.counted / (atMost / 2));
  }
  assert.ok(
    readPerCreate.every((rows) => rows < 40),
    String(readPerCreate),
  );
});

test('without a limit nothing is counted', async () => {
  const { world, quotas, add } = setUp();
  for (let n = 0; n < 100; n += 1) await quotas[0]!.create(user, 0, add);
  assert.deepEqual([world.rows, world.counts], [100, 0]);
});

test('all creates that wait for a count share it, and one count refuses them all to a user at the quota', async () => {
  const { world, quotas, add } = setUp();
  world.rows = 50;
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => quotas[0]!.create(user, 50, add)));
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  assert.equal(world.counts, 1);
  assert.equal(world.rows, 50);
});

test('a create that fails does not count against the quota', async () => {
  const { world, quotas, add } = setUp();
  const failing = () => Promise.reject(new Error('not created'));
  for (let n = 0; n < 10; n += 1) await assert.rejects(quotas[0]!.create(user, 1, failing), /not created/);
  await quotas[0]!.create(user, 1, add);
  assert.equal(world.rows, 1);
});

test('sixteen processes that create rows of one user at once exceed the quota by no more than one each', async () => {
  const { world, quotas, add } = setUp(16);
  const atMost = 1000;
  const fill = async (quota: RowQuota) => {
    for (;;) await quota.create(user, atMost, add);
  };
  await Promise.allSettled(quotas.map(fill));
  assert.ok(world.rows >= atMost && world.rows <= atMost + 16, String(world.rows));
});

test('what other processes have created is counted after a second', async () => {
  const { world, quotas, add } = setUp();
  await quotas[0]!.create(user, 1000, add);
  world.rows = 1000;
  world.now = 1000;
  await assert.rejects(quotas[0]!.create(user, 1000, add), { code: 'quota_exceeded' });
});

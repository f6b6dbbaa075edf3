import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { type NodeId, newNodeId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { NodeLease } from './node-lease.ts';

const dead = newNodeId();

/** A lease on a store that the test can stop and start again. The test controls the clock. */
async function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  const world = {
    isAway: false,
    hadLapsed: false,
    hasRunningSessions: false,
    /** The promise that the next answer waits for. */
    answer: undefined as Promise<void> | undefined,
    /** Whether a delayed answer reports that the lease had run out. */
    tellsLapse: true,
    /** The promise that the list of lost nodes waits for. */
    looking: undefined as Promise<void> | undefined,
    /** The promise that ending the sessions of a lost node waits for. */
    ending: undefined as Promise<void> | undefined,
  };
  const told: string[] = [];
  const id = newNodeId();
  const nodes: Partial<Store['nodes']> = {
    renew: async ({ url }) => {
      if (world.isAway) throw new MillraceError('store_unavailable', 'The store is down.');
      const wasStuck = world.answer !== undefined;
      const { answer } = world;
      world.answer = undefined;
      await answer;
      told.push(`renewed ${url}`);
      return { hadLapsed: world.hadLapsed || (wasStuck && world.tellsLapse) };
    },
    lapsed: async () => {
      await world.looking;
      return [id, dead];
    },
    endSessionsOf: async (lost: NodeId) => {
      told.push(`ended ${lost}`);
      await world.ending;
      return [];
    },
    leave: async () => void told.push('left'),
  };
  const lease = await NodeLease.take({
    store: { nodes } as unknown as Store,
    node: { id, url: 'http://a' },
    clock: { now: () => ms(now), monotonic: () => ms(now) },
    logger: silentLogger,
    hasRunningSessions: () => world.hasRunningSessions,
    onBeat: () => {},
    onRegained: () => told.push('regained'),
  });
  const pass = async (milliseconds: number) => {
    for (let left = milliseconds; left > 0; left -= 2000) {
      now += 2000;
      t.mock.timers.tick(2000);
      await settled();
    }
  };
  /** Lets time pass without a beat. */
  const wait = async (milliseconds: number) => {
    now += milliseconds;
    await settled();
  };
  return { lease, world, told, pass, wait };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('a lease is renewed, and lost nodes are looked for once the lease has been held for its own length', async (t) => {
  const { lease, told, pass } = await setUp(t);
  await pass(4000);
  assert.deepEqual(told, ['renewed http://a', 'renewed http://a', 'renewed http://a']);
  await pass(2000);
  assert.deepEqual(told.slice(3), ['renewed http://a', `ended ${dead}`]);
  await lease[Symbol.asyncDispose]();
});

test('a lease is renewed at every beat while the sessions of a lost node are ended, however long that takes', async (t) => {
  const { lease, world, told, pass } = await setUp(t);
  const stuck = Promise.withResolvers<void>();
  world.ending = stuck.promise;
  await pass(6000);
  told.length = 0;
  await pass(20_000);
  assert.deepEqual(told, Array(10).fill('renewed http://a'));
  stuck.resolve();
  await settled();
  await pass(2000);
  assert.equal(told.at(-1), `ended ${dead}`);
  await lease[Symbol.asyncDispose]();
});

test('after an outage longer than the lease no node is taken for dead until the others had time to renew theirs', async (t) => {
  const { lease, world, told, pass } = await setUp(t);
  await pass(4000);
  world.isAway = true;
  await pass(20_000);
  world.isAway = false;
  told.length = 0;
  await pass(6000);
  assert.deepEqual(told, ['renewed http://a', 'regained', 'renewed http://a', 'renewed http://a']);
  await pass(2000);
  assert.ok(told.includes(`ended ${dead}`));
  await lease[Symbol.asyncDispose]();
});

test('when the store answers late, other nodes are not taken for dead, because their renewals are as late', async (t) => {
  const { lease, world, told, pass } = await setUp(t);
  await pass(6000);
  const stuck = Promise.withResolvers<void>();
  world.answer = stuck.promise;
  await pass(10_000);
  told.length = 0;
  stuck.resolve();
  await pass(6000);
  const renewed = 'renewed http://a';
  assert.deepEqual(told, [renewed, renewed, 'regained', renewed, renewed]);
  await pass(2000);
  assert.ok(told.includes(`ended ${dead}`));
  await lease[Symbol.asyncDispose]();
});

test('a list of lost nodes that the store answers late is ignored, because their renewals are as late', async (t) => {
  const { lease, world, told, pass } = await setUp(t);
  const stuck = Promise.withResolvers<void>();
  world.looking = stuck.promise;
  await pass(6000);
  world.isAway = true;
  await pass(6000);
  stuck.resolve();
  await settled();
  assert.ok(!told.includes(`ended ${dead}`));
  await lease[Symbol.asyncDispose]();
});

for (const { stuckMs, phase, isRegained } of [
  { stuckMs: 5000, phase: 'the lease of this node had run out', isRegained: true },
  { stuckMs: 3000, phase: 'only the lease of a node with a later beat had run out', isRegained: false },
]) {
  test(`when commits were stuck until ${phase}, other nodes get the length of a lease to renew theirs`, async (t) => {
    const { lease, world, told, pass, wait } = await setUp(t);
    await pass(6000);
    const stuck = Promise.withResolvers<void>();
    world.answer = stuck.promise;
    world.tellsLapse = false;
    await pass(2000);
    await wait(stuckMs);
    told.length = 0;
    stuck.resolve();
    await settled();
    const renewed = 'renewed http://a';
    // The renewal that was stuck, and the one that should have been made in the meantime.
    assert.deepEqual(told, isRegained ? [renewed, 'regained', renewed] : [renewed, renewed]);
    await pass(4000);
    assert.ok(!told.includes(`ended ${dead}`));
    await pass(2000);
    assert.ok(told.includes(`ended ${dead}`));
    await lease[Symbol.asyncDispose]();
  });
}

for (const outcome of ['is answered', 'fails'] as const) {
  test(`a renewal that ${outcome} after longer than the lease lasts is repeated at once, and not at the next beat`, async (t) => {
    const { lease, world, told, pass } = await setUp(t);
    const frozen = Promise.withResolvers<void>();
    world.answer = frozen.promise;
    world.tellsLapse = false;
    await pass(10_000);
    told.length = 0;
    if (outcome === 'fails') frozen.reject(new MillraceError('outcome_unknown', 'It may have happened.'));
    else frozen.resolve();
    await settled();
    assert.deepEqual(told.slice(-2), ['renewed http://a', 'regained']);
    assert.ok(!told.includes(`ended ${dead}`));
    await lease[Symbol.asyncDispose]();
  });
}

test('an outage shorter than the lease changes nothing', async (t) => {
  const { lease, world, told, pass } = await setUp(t);
  await pass(6000);
  world.isAway = true;
  await pass(2000);
  world.isAway = false;
  told.length = 0;
  await pass(2000);
  assert.deepEqual(told, ['renewed http://a', `ended ${dead}`]);
  await lease[Symbol.asyncDispose]();
});

test('a lease that others saw run out is reported, however short the outage seemed on this node', async (t) => {
  const { lease, world, told, pass } = await setUp(t);
  world.hadLapsed = true;
  await pass(2000);
  assert.ok(told.includes('regained'));
  await lease[Symbol.asyncDispose]();
});

test('a node whose URL changed reports it at once, and at every renewal', async (t) => {
  const { lease, told, pass } = await setUp(t);
  await lease.moveTo('http://b');
  await pass(2000);
  assert.deepEqual(told, ['renewed http://a', 'renewed http://b', 'renewed http://b']);
  await lease[Symbol.asyncDispose]();
});

test('a lease is given up at the end, but left to run out while sessions run, which a restart continues', async (t) => {
  const first = await setUp(t);
  await first.lease[Symbol.asyncDispose]();
  assert.equal(first.told.at(-1), 'left');
  t.mock.timers.reset();
  const second = await setUp(t);
  second.world.hasRunningSessions = true;
  await second.lease[Symbol.asyncDispose]();
  assert.equal(second.told.includes('left'), false);
});

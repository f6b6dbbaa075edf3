import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newMediaPath, newNodeId, newPlaybackId, newUserId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import type { Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import { Owners } from './owners.ts';

const HERE = newNodeId();
const THERE = { id: newNodeId(), url: 'http://there:8080' };
const NOW = 1_700_000_100_000;
const KEPT_FOR_MS = 48_000;

/** Owners by a store that holds one session of another node. */
function setUp(change: Partial<Session> = {}) {
  const world = { isAway: false, asked: 0, node: THERE as ServiceNode | undefined, passedMs: 0 };
  const found = async () => {
    world.asked += 1;
    if (world.isAway) throw new MillraceError('store_unavailable', 'The store is away.');
    return { session: someSession(someStream(newUserId()), change), node: world.node };
  };
  const owners = new Owners({
    store: { sessions: { newest: found, byMediaPath: found } } as unknown as Store,
    nodeId: HERE,
    keptForMs: KEPT_FOR_MS,
    clock: { now: () => ms(NOW), monotonic: () => ms(world.passedMs) },
  });
  return { owners, world };
}

const id = newPlaybackId();
const path = newMediaPath();

test('the owner is the node that has the session, unless it is this one or gone', async () => {
  for (const [what, change, node, origin] of [
    ['live', {}, THERE, THERE.url],
    ['here', {}, { ...THERE, id: HERE }, undefined],
    ['of a node that is not known', {}, undefined, undefined],
    ['just ended', { phase: 'ended', endedAt: ms(NOW - 1000), endReason: 'unpublished' }, THERE, THERE.url],
    ['ended long ago', { phase: 'ended', endedAt: ms(NOW - 60_000), endReason: 'unpublished' }, THERE, undefined],
    ['suspended', { phase: 'ended', endedAt: ms(NOW), endReason: 'suspended' }, THERE, undefined],
    ['of a node that died', { phase: 'ended', endedAt: ms(NOW), endReason: 'node_lost' }, THERE, undefined],
    ['of a node with an address that is none', {}, { ...THERE, url: 'http://there/etc?a=' }, undefined],
  ] as const) {
    const { owners, world } = setUp(change);
    world.node = node;
    assert.equal(await owners.find(id, undefined), origin, what);
    assert.equal(await owners.find(id, path), origin, what);
  }
});

test('answers are remembered for a moment, by path for longer, until the owner does not answer', async () => {
  const { owners, world } = setUp();
  const find = async () => [await owners.find(id, undefined), await owners.find(id, path)];
  await find();
  await find();
  assert.equal(world.asked, 2);
  world.passedMs = 1000;
  await find();
  assert.equal(world.asked, 3);
  owners.forget(id, path);
  await find();
  assert.equal(world.asked, 5);
});

test('what was nowhere may be somewhere a moment later, by either name', async () => {
  const { owners, world } = setUp();
  world.node = undefined;
  const find = async () => [await owners.find(id, undefined), await owners.find(id, path)];
  assert.deepEqual(await find(), [undefined, undefined]);
  world.node = THERE;
  world.passedMs = 1000;
  assert.deepEqual(await find(), [THERE.url, THERE.url]);
});

test('those who ask at the same time share one look', async () => {
  const { owners, world } = setUp();
  await Promise.all([owners.find(id, undefined), owners.find(id, undefined)]);
  assert.equal(world.asked, 1);
});

test('while the store is away, what was found last still holds, and what was never asked is unknown', async () => {
  const { owners, world } = setUp();
  await owners.find(id, path);
  world.isAway = true;
  for (const passedMs of [20_000, 40_000]) {
    world.passedMs = passedMs;
    assert.equal(await owners.find(id, path), THERE.url);
  }
  await assert.rejects(owners.find(newPlaybackId(), undefined), { code: 'store_unavailable' });
});

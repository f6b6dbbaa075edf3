import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newMediaPath, newNodeId, newPlaybackId, newUserId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import { QUOTA_NAMES, type Quotas } from '#domain/quotas.ts';
import type { Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import { Owners } from './owners.ts';

const HERE = newNodeId();
const THERE = { id: newNodeId(), url: 'http://there:8080' };
const NOW = 1_700_000_100_000;
const KEPT_FOR_MS = 48_000;

const ADDRESS = '10.0.0.1';
const QUOTAS = { ...(Object.fromEntries(QUOTA_NAMES.map((name) => [name, 0])) as Quotas), viewers: 7 };

/** Owners with a store that has one session of another node under every name, or under none while `isKnown` is false. */
function setUp(change: Partial<Session> = {}) {
  const world = { isAway: false, isKnown: true, asked: 0, node: THERE as ServiceNode | undefined, passedMs: 0 };
  const found = async () => {
    world.asked += 1;
    if (world.isAway) throw new MillraceError('store_unavailable', 'The store is down.');
    if (!world.isKnown) return undefined;
    return { session: someSession(someStream(newUserId()), change), node: world.node };
  };
  const owners = new Owners({
    store: {
      sessions: { newest: found, byMediaPath: found },
      users: { get: async () => ({ isAdmin: false, quotas: {} }) },
    } as unknown as Store,
    quotas: QUOTAS,
    nodeId: HERE,
    keptForMs: KEPT_FOR_MS,
    clock: { now: () => ms(NOW), monotonic: () => ms(world.passedMs) },
  });
  return { owners, world };
}

const id = newPlaybackId();
const path = newMediaPath();

test('the owner is the node that has the session, unless that is this node or a lost one', async () => {
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
    assert.equal((await owners.find(id, undefined, ADDRESS))?.origin, origin, what);
    assert.equal((await owners.find(id, path, ADDRESS))?.origin, origin, what);
  }
});

test('answers are remembered for a moment, and longer by path, until the owner does not answer', async () => {
  const { owners, world } = setUp();
  const find = async () => [await owners.find(id, undefined, ADDRESS), await owners.find(id, path, ADDRESS)];
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

test('a stream without an owner may have one a moment later, by either name', async () => {
  const { owners, world } = setUp();
  world.node = undefined;
  const find = async () => [await owners.find(id, undefined, ADDRESS), await owners.find(id, path, ADDRESS)];
  assert.deepEqual(await find(), [undefined, undefined]);
  world.node = THERE;
  world.passedMs = 1000;
  assert.deepEqual(
    (await find()).map((owner) => owner?.origin),
    [THERE.url, THERE.url],
  );
});

test('concurrent requests share one lookup', async () => {
  const { owners, world } = setUp();
  await Promise.all([owners.find(id, undefined, ADDRESS), owners.find(id, undefined, ADDRESS)]);
  assert.equal(world.asked, 1);
});

test('while the store is down, the last answer still holds, and names that were never looked up fail', async () => {
  const { owners, world } = setUp();
  await owners.find(id, path, ADDRESS);
  world.isAway = true;
  for (const passedMs of [20_000, 40_000]) {
    world.passedMs = passedMs;
    assert.equal((await owners.find(id, path, ADDRESS))?.origin, THERE.url);
  }
  await assert.rejects(owners.find(newPlaybackId(), undefined, ADDRESS), { code: 'store_unavailable' });
});

test('the owner comes with the viewer quota of the user who owns the stream', async () => {
  const { owners } = setUp();
  assert.equal((await owners.find(id, undefined, ADDRESS))?.quota.atMost, 7);
});

test('unknown names displace no known ones, however many are requested', async () => {
  const { owners, world } = setUp();
  await owners.find(id, path, ADDRESS);
  world.isKnown = false;
  for (let invented = 0; invented < 11_000; invented += 1) {
    await owners.find(newPlaybackId(), newMediaPath(), `10.${invented % 200}.${invented % 50}.1`);
  }
  const { asked } = world;
  assert.equal((await owners.find(id, path, ADDRESS))?.origin, THERE.url);
  assert.equal(world.asked, asked, 'the answer was remembered');
});

test('an address that asks for many unknown names is refused, and no other address is', async () => {
  const { owners, world } = setUp();
  world.isKnown = false;
  let refused = 0;
  for (let invented = 0; invented < 2000; invented += 1) {
    await owners.find(newPlaybackId(), undefined, '10.9.9.9').catch(({ code }) => {
      assert.equal(code, 'too_many_viewers');
      refused += 1;
    });
  }
  assert.deepEqual([world.asked, refused], [600, 1400]);
  world.isKnown = true;
  assert.equal((await owners.find(id, undefined, ADDRESS))?.origin, THERE.url);
  assert.equal(
    (await owners.find(id, undefined, '10.9.9.9'))?.origin,
    THERE.url,
    'a known name is answered for everybody',
  );
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { type NodeId, newNodeId, newStreamId, newUserId, type StreamId, type UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import type { Stream } from '#domain/stream.ts';
import type { StoreAnnouncement } from '#store/announcement.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someQuotas, someStream, someUser } from '#test/support/sample-records.ts';
import type { PublisherClaims } from './publisher-claims.ts';
import type { SessionRegistry } from './session-registry.ts';
import { StreamWatcher } from './stream-watcher.ts';

const user = someUser();
const stream = someStream(user.id);

/** A watcher of one stream with a session, over a store with contents that the test sets. */
async function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const world = {
    stored: [stream] as readonly Stream[],
    owner: SOME_NODE_ID as NodeId,
    isUserSuspended: false,
    quotas: {} as Partial<Quotas>,
    isAway: false,
    hasPublisher: false,
    /** A promise that a query waits for after it has read the rows. */
    read: Promise.resolve(),
  };
  const told: string[] = [];
  const reads: (readonly StreamId[])[] = [];
  const userReads: (readonly UserId[])[] = [];
  let announce: (announcement: StoreAnnouncement) => void = () => {};
  const store = {
    listen: (listener: typeof announce) => {
      announce = listener;
      return { [Symbol.dispose]: () => void told.push('stopped listening') };
    },
    streams: {
      getMany: async (ids: readonly StreamId[]) => {
        if (world.isAway) throw new MillraceError('store_unavailable', 'The store is down.');
        reads.push(ids);
        const found = world.stored.filter(({ id }) => ids.includes(id));
        await world.read;
        return found;
      },
    },
    publishers: { ownersOf: async (ids: readonly StreamId[]) => new Map(ids.map((id) => [id, world.owner])) },
    users: {
      getMany: async (ids: readonly UserId[]) => {
        userReads.push(ids);
        const found = ids.map((id) => someUser({ id, suspended: world.isUserSuspended, quotas: world.quotas }));
        await world.read;
        return found;
      },
    },
  } as unknown as Store;
  const streams = new Map([[stream.id, user.id]]);
  const registry = {
    streams,
    publishers: { has: () => world.hasPublisher },
    setQuotas: (_id: UserId, { publishers }: Quotas) => void (publishers > 0 && told.push(`quota ${publishers}`)),
    disconnect: (id: StreamId, reason: string) => void told.push(`disconnected ${id === stream.id} ${reason}`),
    follow: (followed: Stream) => void told.push(`follow ${followed.name}`),
  } as unknown as SessionRegistry;
  const claims = { confirm: async () => void told.push('confirm') } as unknown as PublisherClaims;
  const watcher = new StreamWatcher({
    store,
    registry,
    quotas: someQuotas(),
    nodeId: SOME_NODE_ID,
    claims,
    logger: silentLogger,
  });
  await settled();
  told.length = 0;
  reads.length = 0;
  userReads.length = 0;
  const hear = async (announcement: StoreAnnouncement) => {
    announce(announcement);
    await settled();
  };
  const pass = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await settled();
  };
  return { watcher, world, streams, told, reads, userReads, hear, pass, passFiveSeconds: () => pass(5000) };
}

const SOME_NODE_ID = newNodeId();
const changed: StoreAnnouncement = { type: 'stream_changed', streamId: stream.id };

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

test('a stream and its user are read again after a publisher of the stream was accepted', async (t) => {
  const { watcher, world, told } = await setUp(t);
  world.stored = [{ ...stream, suspended: true }];
  watcher.accepted(stream);
  await settled();
  assert.deepEqual(told, ['disconnected true suspended']);
  world.stored = [stream];
  world.isUserSuspended = true;
  watcher.accepted(stream);
  await settled();
  assert.deepEqual(told.slice(1), [`follow ${stream.name}`, 'disconnected true suspended']);
});

test('a row that was read before a publisher was accepted is not applied to it, but read again', async (t) => {
  const { watcher, world, told, hear } = await setUp(t);
  const slow = Promise.withResolvers<void>();
  world.read = slow.promise;
  world.stored = [{ ...stream, suspended: true }];
  await hear(changed);
  world.stored = [{ ...stream, name: 'resumed' }];
  watcher.accepted(stream);
  slow.resolve();
  await settled();
  assert.deepEqual(told.splice(0), ['follow resumed']);

  const slowUser = Promise.withResolvers<void>();
  world.read = slowUser.promise;
  world.isUserSuspended = true;
  await hear({ type: 'user_changed', userId: user.id });
  world.isUserSuspended = false;
  watcher.accepted(stream);
  slowUser.resolve();
  await settled();
  assert.deepEqual(told, ['follow resumed']);
  watcher[Symbol.dispose]();
});

test('a stream that changed is read again and followed, or disconnected when it was deleted or suspended', async (t) => {
  for (const [stored, what] of [
    [[{ ...stream, name: 'new' }], 'follow new'],
    [[{ ...stream, suspended: true }], 'disconnected true suspended'],
    [[], 'disconnected true deleted'],
  ] as const) {
    const { watcher, world, told, hear } = await setUp(t);
    world.stored = stored;
    await hear(changed);
    assert.deepEqual(told, [what]);
    watcher[Symbol.dispose]();
    t.mock.timers.reset();
  }
});

test('a stream without a session in this process is not read', async (t) => {
  const { watcher, reads, hear } = await setUp(t);
  await hear({ type: 'stream_changed', streamId: newStreamId() });
  await hear({ type: 'user_changed', userId: newUserId() });
  assert.deepEqual(reads, []);
  watcher[Symbol.dispose]();
});

test('a stream that another node has claimed is noticed within five seconds when the announcement was lost', async (t) => {
  const { watcher, world, told, passFiveSeconds } = await setUp(t);
  world.owner = newNodeId();
  await passFiveSeconds();
  assert.deepEqual(told.splice(0), ['disconnected true replaced', 'follow a stream']);
  world.hasPublisher = true;
  await passFiveSeconds();
  assert.deepEqual(told.splice(0), ['confirm', 'follow a stream']);
  world.owner = SOME_NODE_ID;
  await passFiveSeconds();
  assert.deepEqual(told, ['follow a stream']);
  watcher[Symbol.dispose]();
});

test('a store that did not answer is asked again after a second, unless the watcher is disposed', async (t) => {
  const { watcher, world, told, hear, pass } = await setUp(t);
  world.isAway = true;
  await hear(changed);
  world.isAway = false;
  world.stored = [];
  await pass(1000);
  assert.deepEqual(told.splice(0), ['disconnected true deleted']);
  world.isAway = true;
  await hear(changed);
  watcher[Symbol.dispose]();
  world.isAway = false;
  await pass(10_000);
  assert.deepEqual(told, ['stopped listening']);
});

test('a publisher on another node ends a waiting session, and causes a check of the claim of a published one', async (t) => {
  const { watcher, world, told, hear } = await setUp(t);
  const published = { type: 'stream_published', streamId: stream.id, nodeId: newNodeId() } as const;
  await hear({ ...published, nodeId: SOME_NODE_ID });
  assert.deepEqual(told, []);
  await hear(published);
  world.hasPublisher = true;
  await hear(published);
  assert.deepEqual(told, ['disconnected true replaced', 'confirm']);
  watcher[Symbol.dispose]();
});

test('the publishers of a suspended user are disconnected, and those of an active user are not', async (t) => {
  const { watcher, world, told, hear } = await setUp(t);
  await hear({ type: 'user_changed', userId: user.id });
  assert.deepEqual(told, []);
  world.isUserSuspended = true;
  await hear({ type: 'user_changed', userId: user.id });
  assert.deepEqual(told, ['disconnected true suspended']);
  watcher[Symbol.dispose]();
});

test('all streams are read again when announcements were missed, every five seconds, and after an outage of the store', async (t) => {
  const { watcher, world, told, hear, pass, passFiveSeconds } = await setUp(t);
  await hear({ type: 'missed' });
  assert.deepEqual(told.splice(0), ['follow a stream']);
  world.isAway = true;
  await passFiveSeconds();
  assert.deepEqual(told, []);
  world.isAway = false;
  world.stored = [];
  await pass(1000);
  assert.deepEqual(told.splice(0), ['disconnected true deleted']);
  watcher[Symbol.dispose]();
  assert.deepEqual(told, ['stopped listening']);
  await passFiveSeconds();
  assert.deepEqual(told, ['stopped listening']);
});

test('quotas that an admin sets apply at once to what the user has in this process', async (t) => {
  const { world, told, hear } = await setUp(t);
  world.quotas = { publishers: 3 };
  await hear({ type: 'user_changed', userId: user.id });
  assert.deepEqual(told, ['quota 3']);
});

test('the users of all streams are read together, so that a slow store does not delay the next look at the streams', async (t) => {
  const { streams, reads, userReads, passFiveSeconds } = await setUp(t);
  for (let count = 0; count < 300; count += 1) streams.set(newStreamId(), newUserId());
  await passFiveSeconds();
  assert.deepEqual([reads.length, userReads.map((ids) => ids.length)], [1, [301]]);
});

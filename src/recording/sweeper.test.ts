import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type AssetId, type MediaPath, newMediaPath, newNodeId } from '#domain/ids.ts';
import { DAY_MS, MINUTE_MS, ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { putEmptyStore } from '#test/support/empty-store.ts';
import {
  SOME_EXTENT,
  SOME_NODE,
  someClip,
  someQuotas,
  someReceipt,
  someSession,
  someStream,
  someUser,
} from '#test/support/sample-records.ts';
import type { KeptSpan } from './storage/unneeded-volumes.ts';
import { Sweeper, type SweeperOptions } from './sweeper.ts';

const ENDED_AT = 1_700_000_061_700;

interface Fixture {
  readonly store: Store;
  /** What the storage was asked to do, in order. */
  readonly asked: (string | { readonly free: MediaPath; readonly spans: readonly KeptSpan[] })[];
  readonly state: { now: number; freeBytes: number; failure: Error | undefined };
  readonly sweeper: (change?: Partial<SweeperOptions>) => Sweeper;
  /** A recording that has ended. */
  readonly recording: (change?: {
    readonly endedAt?: number;
    readonly sizeBytes?: number;
    readonly isRunning?: boolean;
  }) => Promise<Recording>;
}

interface Recording {
  readonly id: AssetId;
  readonly path: MediaPath;
  readonly session: ReturnType<typeof someSession>;
}

async function setUp(t: TestContext): Promise<Fixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-sweeper-'));
  await putEmptyStore(dataDir);
  const patient = { readTimeoutMs: 60_000, writeTimeoutMs: 60_000 };
  const store = await openStore({ dataDir, exclusive: true, logger: silentLogger, ...patient });
  t.after(async () => {
    await store[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true });
  });
  const user = await store.users.ensure(someUser());
  const asked: Fixture['asked'] = [];
  const state: Fixture['state'] = { now: ENDED_AT + DAY_MS, freeBytes: 10_000, failure: undefined };
  const storage: SweeperOptions['storage'] = {
    async free(path, spans) {
      asked.push({ free: path, spans });
      if (state.failure !== undefined) throw state.failure;
      return undefined;
    },
    async freeDisk(path) {
      asked.push(`free disk ${path}`);
      return undefined;
    },
    freeBytes: async () => state.freeBytes,
    async makeRoom() {
      asked.push('make room');
      return 0;
    },
    noted: (path) => void asked.push(`noted ${path}`),
  };
  const clock = { now: () => ms(state.now), monotonic: () => ms(state.now) };
  return {
    store,
    asked,
    state,
    sweeper: (change = {}) =>
      new Sweeper({
        store,
        storage,
        nodeId: SOME_NODE,
        isShared: false,
        clock,
        deletionClock: clock,
        logger: silentLogger,
        retentionDays: 0,
        minFreeBytes: 1000,
        whenFull: 'stop',
        quotas: someQuotas({ recordingGib: 1 }),
        onOverQuota: (path) => void asked.push(`end ${path}`),
        onFree: ({ id }) => void asked.push(`forget ${id}`),
        ...change,
      }),
    async recording({ endedAt = ENDED_AT, sizeBytes = 100, isRunning = false } = {}) {
      const stream = someStream(user.id, { record: true });
      await store.streams.create(stream, someReceipt());
      const path = newMediaPath();
      const ended = { phase: 'ended', endedAt: ms(endedAt), endReason: 'unpublished' } as const;
      const session = someSession(stream, { recordingPath: path, ...(isRunning ? { phase: 'live' } : ended) });
      await store.sessions.create(session);
      const id = session.id as string as AssetId;
      if (isRunning) await store.assets.progress(id, { ...SOME_EXTENT, sizeBytes });
      else await store.assets.finish(id, { ...SOME_EXTENT, sizeBytes }, ms(endedAt));
      return { id, path, session };
    },
  };
}

const phaseOf = async (store: Store, id: AssetId) => (await store.assets.getMany([id], 'all'))[0]?.phase;

test('recordings are deleted when they have been kept long enough, bytes and row, and not before', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const old = await recording();
  const young = await recording({ endedAt: ENDED_AT + DAY_MS });
  const swept = sweeper({ retentionDays: 7 });
  state.now = ENDED_AT + 7 * DAY_MS;
  await swept.sweep();
  assert.deepEqual(asked, []);
  state.now += 1;
  await swept.sweep();
  assert.equal(await phaseOf(store, old.id), 'deleting');
  assert.deepEqual(asked, [], 'a clip may be on its way');
  state.now += MINUTE_MS + 1;
  await swept.sweep();
  assert.deepEqual(asked, [`forget ${old.id}`, { free: old.path, spans: [] }]);
  assert.deepEqual([await phaseOf(store, old.id), await phaseOf(store, young.id)], ['deleted', 'ready']);
  await swept.sweep();
  assert.equal(asked.length, 2);
});

test('with a deletion clock that lags, nothing expires early, and what somebody has deleted is removed in time', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const [deleted, old] = [await recording(), await recording()];
  const lagMs = 120 * MINUTE_MS;
  const deletionClock = { now: () => ms(state.now - lagMs), monotonic: () => ms(state.now) };
  const swept = sweeper({ retentionDays: 7, deletionClock });
  state.now = ENDED_AT + 7 * DAY_MS + lagMs;
  await store.assets.expire(deleted.id, ms(state.now));
  state.now -= 1;
  await swept.sweep();
  assert.equal(await phaseOf(store, old.id), 'ready');
  state.now += MINUTE_MS + 2;
  await swept.sweep();
  assert.deepEqual(asked, [`forget ${deleted.id}`, { free: deleted.path, spans: [] }]);
  assert.equal(await phaseOf(store, old.id), 'deleting');
  state.now += MINUTE_MS + 1;
  await swept.sweep();
  assert.deepEqual(asked.slice(2), [`forget ${old.id}`, { free: old.path, spans: [] }]);
});

test('with WHEN_FULL=oldest, expired recordings leave the disk although the clock was set back', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  await recording({ isRunning: true });
  const old = await recording();
  let monotonicMs = 0;
  const clock = { now: () => ms(state.now), monotonic: () => ms(monotonicMs) };
  const swept = sweeper({ whenFull: 'oldest', clock });
  state.freeBytes = 950;
  await swept.sweep();
  assert.equal(await phaseOf(store, old.id), 'deleting');
  state.now -= DAY_MS;
  monotonicMs += MINUTE_MS + 1;
  await swept.sweep();
  assert.deepEqual(asked.slice(1), [`forget ${old.id}`, `free disk ${old.path}`, 'make room']);
});

test('recordings are kept for ever with a retention of 0', async (t) => {
  const { store, state, sweeper, recording } = await setUp(t);
  const { id } = await recording();
  state.now += 36_500 * DAY_MS;
  await sweeper().sweep();
  assert.equal(await phaseOf(store, id), 'ready');
});

test('the recordings of a deleted stream go a day after it', async (t) => {
  const { store, state, sweeper, recording } = await setUp(t);
  const { id, session } = await recording();
  await store.streams.delete([session.streamId], session.userId, [someReceipt({ at: ms(state.now) })]);
  const swept = sweeper();
  state.now += DAY_MS - 1;
  await swept.sweep();
  assert.equal(await phaseOf(store, id), 'ready');
  state.now += 1;
  await swept.sweep();
  state.now += MINUTE_MS + 1;
  await swept.sweep();
  assert.equal(await phaseOf(store, id), 'deleted');
});

test('what a clip shows of a deleted recording stays until the clip is deleted', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const { id, path, session } = await recording();
  const clip = someClip(session, { fromMs: ms(5000), untilMs: ms(9000) });
  await store.assets.createClip(clip, id, someReceipt());
  await store.assets.expire(id, ms(state.now));
  const swept = sweeper();
  state.now += MINUTE_MS + 1;
  for (let round = 0; round < 3; round += 1) await swept.sweep();
  assert.deepEqual(asked, [`forget ${id}`, { free: path, spans: [{ fromMs: 5000, untilMs: 9000 }] }]);
  assert.equal(await phaseOf(store, id), 'deleting');
  await store.assets.delete(clip.id, session.userId, someReceipt());
  state.now += 5 * MINUTE_MS;
  await swept.sweep();
  assert.deepEqual(asked.at(-1), { free: path, spans: [] });
  assert.equal(await phaseOf(store, id), 'deleted');
});

test('the clips of deleted recordings are read every five minutes, and not in every round', async (t) => {
  const { store, state, sweeper, recording } = await setUp(t);
  const { id, session } = await recording();
  await store.assets.createClip(someClip(session), id, someReceipt());
  await store.assets.expire(id, ms(state.now));
  let reads = 0;
  const clipsOf = (of: AssetId) => {
    reads += 1;
    return store.assets.clipsOf(of);
  };
  const swept = sweeper({ store: { users: store.users, assets: { ...store.assets, clipsOf } } });
  state.now += MINUTE_MS + 1;
  for (let round = 0; round < 10; round += 1) {
    await swept.sweep();
    state.now += MINUTE_MS;
  }
  assert.equal(reads, 2);
});

test('a deletion that fails, or whose process is killed, is found again', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const one = await recording();
  const other = await recording();
  for (const { id } of [one, other]) await store.assets.expire(id, ms(state.now));
  state.now += MINUTE_MS + 1;
  state.failure = new Error('the bucket is away');
  await sweeper().sweep();
  assert.equal(asked.length, 4, 'one that fails does not keep the other from being tried');
  assert.deepEqual([await phaseOf(store, one.id), await phaseOf(store, other.id)], ['deleting', 'deleting']);
  state.failure = undefined;
  await sweeper().sweep();
  assert.deepEqual([await phaseOf(store, one.id), await phaseOf(store, other.id)], ['deleted', 'deleted']);
});

test('the row of a recording on another node stays until that node has deleted its bytes', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const { id, path } = await recording();
  await store.assets.expire(id, ms(state.now));
  state.now += MINUTE_MS + 1;
  const neighbour = sweeper({ nodeId: newNodeId(), isShared: true });
  for (let round = 0; round < 2; round += 1) await neighbour.sweep();
  assert.deepEqual(asked, [`forget ${id}`, { free: path, spans: [] }], 'what is in the bucket goes at once');
  assert.equal(await phaseOf(store, id), 'deleting');
  await sweeper({ isShared: true }).sweep();
  assert.equal(await phaseOf(store, id), 'deleted');
});

test('a full disk is relieved of what is in the bucket, and of nothing else by default', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const { id } = await recording();
  state.freeBytes = 999;
  await sweeper().sweep();
  assert.deepEqual(asked, [], 'nothing is recorded');
  await recording({ isRunning: true });
  state.freeBytes = 1000;
  await sweeper().sweep();
  assert.deepEqual(asked, []);
  state.freeBytes = 999;
  await sweeper().sweep();
  assert.deepEqual(asked, ['make room']);
  assert.equal(await phaseOf(store, id), 'ready');
  await sweeper({ minFreeBytes: 0 }).sweep();
  assert.equal(asked.length, 1);
});

test('with WHEN_FULL=oldest, as many of the oldest recordings are deleted as are needed, and no more while they go', async (t) => {
  const { store, state, sweeper, recording } = await setUp(t);
  const recordings = [];
  for (const day of [3, 1, 2, 4])
    recordings.push(await recording({ endedAt: ENDED_AT - day * DAY_MS, sizeBytes: 300 }));
  const [third, fifth, fourth, oldest] = recordings as [Recording, Recording, Recording, Recording];
  await store.assets.stored(oldest.id);
  await recording({ isRunning: true });
  const swept = sweeper({ whenFull: 'oldest' });
  state.freeBytes = 500;
  const phases = () => Promise.all([oldest, third, fourth, fifth].map(({ id }) => phaseOf(store, id)));
  for (let round = 0; round < 3; round += 1) await swept.sweep();
  assert.deepEqual(await phases(), ['ready', 'deleting', 'deleting', 'ready'], 'one in the bucket would free nothing');
  state.now += MINUTE_MS + 1;
  state.freeBytes = 1100;
  await swept.sweep();
  assert.deepEqual(await phases(), ['ready', 'deleted', 'deleted', 'ready']);
  state.freeBytes = 999;
  await swept.sweep();
  assert.deepEqual(await phases(), ['ready', 'deleted', 'deleted', 'deleting']);
});

test('with WHEN_FULL=oldest and a bucket that is away, expired recordings leave the disk, and more of them expire', async (t) => {
  const { store, asked, state, sweeper, recording } = await setUp(t);
  const younger = await recording({ endedAt: ENDED_AT + 1 });
  const older = await recording();
  await recording({ isRunning: true });
  const swept = sweeper({ whenFull: 'oldest' });
  state.freeBytes = 950;
  state.failure = new Error('the bucket is away');
  for (let round = 0; round < 2; round += 1) await swept.sweep();
  assert.deepEqual([await phaseOf(store, older.id), await phaseOf(store, younger.id)], ['deleting', 'ready']);
  state.now += MINUTE_MS + 1;
  for (let round = 0; round < 2; round += 1) await swept.sweep();
  assert.deepEqual([await phaseOf(store, older.id), await phaseOf(store, younger.id)], ['deleting', 'deleting']);
  assert.deepEqual(
    asked.filter((what) => what === `free disk ${older.path}`),
    [`free disk ${older.path}`],
  );
});

test('quotas are checked while a deletion waits for the bucket', async (t) => {
  const { store, state, sweeper, recording } = await setUp(t);
  const { id } = await recording();
  await store.assets.expire(id, ms(state.now));
  state.now += MINUTE_MS + 1;
  const running = await recording({ isRunning: true, sizeBytes: 2 ** 30 });
  const bucket = Promise.withResolvers<undefined>();
  const asked = Promise.withResolvers<void>();
  const minded = Promise.withResolvers<MediaPath>();
  const storage: SweeperOptions['storage'] = {
    free: () => {
      asked.resolve();
      return bucket.promise;
    },
    freeDisk: async () => undefined,
    freeBytes: async () => undefined,
    makeRoom: async () => 0,
    noted: () => {},
  };
  const swept = sweeper({
    storage,
    intervalMs: 1,
    onOverQuota: (path) => void asked.promise.then(() => minded.resolve(path)),
  });
  swept.start();
  assert.equal(await minded.promise, running.path);
  bucket.resolve(undefined);
  await swept[Symbol.asyncDispose]();
});

test('a recording in the bucket is noted in its row, and its folder may go after that', async (t) => {
  const { store, asked, sweeper, recording } = await setUp(t);
  const { id, path } = await recording();
  const swept = sweeper();
  swept.stored(path);
  while (asked.length === 0) await swept.sweep();
  assert.equal((await store.assets.getMany([id]))[0]?.isStored, true);
  assert.deepEqual(asked, [`noted ${path}`]);
});

test('a recording in the bucket that ended before its session keeps its folder, and its row is not written, until the session has ended', async (t) => {
  const { store, asked, sweeper, recording } = await setUp(t);
  const { id, path, session } = await recording({ isRunning: true });
  let writes = 0;
  const stored: typeof store.assets.stored = async (asset) => {
    writes += 1;
    return await store.assets.stored(asset);
  };
  const counted = { users: store.users, assets: { ...store.assets, stored } };
  const swept = sweeper({ store: counted, quotas: someQuotas({ recordingGib: 0 }) });
  const isStored = async () => (await store.assets.getMany([id]))[0]?.isStored;
  swept.stored(path);
  await swept.sweep();
  await store.sessions.change(session.id, { phase: 'ended', endedAt: ms(ENDED_AT), endReason: 'unpublished' });
  await swept.sweep();
  assert.equal(await phaseOf(store, id), 'storing');
  assert.deepEqual([await isStored(), asked, writes], [false, [], 0]);
  await store.assets.finish(id, SOME_EXTENT, ms(ENDED_AT));
  await swept.sweep();
  assert.deepEqual([await isStored(), asked], [true, [`noted ${path}`]]);
});

test('the running recordings of a user whose recordings take too much are ended, and those of others are not', async (t) => {
  const { store, asked, sweeper, recording } = await setUp(t);
  const running = await recording({ isRunning: true, sizeBytes: 2 ** 29 });
  await sweeper().sweep();
  assert.deepEqual(asked, []);
  await recording({ sizeBytes: 2 ** 29 });
  await sweeper({ quotas: someQuotas({ recordingGib: 0 }) }).sweep();
  assert.deepEqual(asked, []);
  await sweeper().sweep();
  assert.deepEqual(asked, [`end ${running.path}`]);
  await store.users.change(running.session.userId, { quotas: { recordingGib: 2 } }, someReceipt());
  await sweeper().sweep();
  assert.equal(asked.length, 1);
});

test('the quota is checked when a recording begins, and holds for all that begin until there is room again', async (t) => {
  const { store, sweeper, recording } = await setUp(t);
  const { id, session } = await recording({ sizeBytes: 2 ** 30 });
  const { userId } = session;
  const path = newMediaPath();
  const ended = Promise.withResolvers<MediaPath>();
  const swept = sweeper({ onOverQuota: ended.resolve });
  assert.equal(swept.isOverQuota(userId), false);
  swept.begun(userId, path);
  assert.equal(await ended.promise, path);
  await swept.sweep();
  assert.equal(swept.isOverQuota(userId), true, 'also while nothing is recorded');
  await store.assets.delete(id, userId, someReceipt());
  await swept.sweep();
  assert.equal(swept.isOverQuota(userId), false);
});

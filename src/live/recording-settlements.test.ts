import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Asset } from '#domain/asset.ts';
import { systemClock } from '#lib/clock.ts';
import type { Recorded } from '#recording/recording.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { SOME_EXTENT, SOME_NODE, someClip, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { RecordingSettlements, type RecordingSettlementsOptions } from './recording-settlements.ts';

/** A store that knows some unsettled recordings, and what it was told of them. */
function settlementsOf(
  open: readonly Asset[],
  recorders: Partial<RecordingSettlementsOptions['recorders']>,
  library: RecordingSettlementsOptions['library'] = { open: async () => undefined },
  options: Partial<RecordingSettlementsOptions> = {},
) {
  const told: string[] = [];
  let unsettled = open;
  let failures = 0;
  const settled = (id: string, what: string) => {
    if (failures > 0) {
      failures -= 1;
      return Promise.reject(new Error('the store is away'));
    }
    told.push(`${id} ${what}`);
    unsettled = unsettled.filter((asset) => asset.id !== id);
    return Promise.resolve(true);
  };
  const settlements = new RecordingSettlements({
    assets: {
      open: async () => unsettled,
      progress: async (id) => told.push(`${id} progress`) > 0,
      finish: (id) => settled(id, 'ready'),
      fail: (id) => settled(id, 'failed'),
      stored: async (id) => told.push(`${id} stored`) > 0,
    },
    library,
    recorders: { running: () => undefined, settle: () => assert.fail('settled'), ...recorders },
    nodeId: SOME_NODE,
    clock: systemClock,
    logger: silentLogger,
    everyMs: 5,
    ...options,
  });
  return { settlements, told, failNext: (count: number) => (failures = count) };
}

const recording = (change: Partial<Asset>): Asset =>
  someClip(someSession(someStream(someUser().id)), { kind: 'recording', ...change });

describe('settlements of recordings', () => {
  it('finish what an earlier process left, and fail what has no files', async () => {
    const [found, lost] = [recording({ phase: 'storing' }), recording({ phase: 'storing' })];
    const { settlements, told } = settlementsOf([found, lost], {
      settle: async (path) => (path === found.path ? { ...SOME_EXTENT, tracks: [] } : undefined),
    });
    await using _settlements = settlements;
    await waitFor(() => told.length === 2, { what: 'both' });
    assert.deepEqual(told, [`${found.id} ready`, `${lost.id} failed`]);
  });

  it('finish a recording whose files are in the bucket only, with the extent that is stored', async () => {
    const asset = recording({ phase: 'storing', isStored: true });
    const { settlements, told } = settlementsOf([asset], { settle: async () => undefined });
    await using _settlements = settlements;
    await waitFor(() => told.length === 1, { what: 'it' });
    assert.deepEqual(told, [`${asset.id} ready`]);
  });

  it('finish a recording that is complete in the bucket, although neither this node nor the store knows it', async () => {
    const asset = recording({ phase: 'storing' });
    const ended = { isRunning: false, extent: { ...SOME_EXTENT, tracks: [] } } as unknown as Recorded;
    const open = async (path: string) => (path === asset.path ? ended : undefined);
    const { settlements, told } = settlementsOf([asset], { settle: async () => undefined }, { open });
    await using _settlements = settlements;
    await waitFor(() => told.length === 2, { what: 'it' });
    assert.deepEqual(told, [`${asset.id} ready`, `${asset.id} stored`]);
  });

  it('wait only a moment for a bucket that hangs, log it once, and finish the recording once it is read', async () => {
    const [asset, other] = [recording({ phase: 'storing' }), recording({ phase: 'storing' })];
    const { promise: ended, resolve: answer } = Promise.withResolvers<Recorded>();
    let opened = 0;
    const warnings: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) } as never;
    const { settlements, told } = settlementsOf(
      [asset, other],
      { settle: async (path) => (path === other.path && opened > 1 ? { ...SOME_EXTENT, tracks: [] } : undefined) },
      {
        open: (path) => {
          if (path !== asset.path) return Promise.reject(new Error('refused'));
          opened += 1;
          return ended;
        },
      },
      { logger, bucketWithinMs: 5 },
    );
    await using _settlements = settlements;
    await waitFor(() => told.length === 1, { what: 'the other one, in the second round' });
    assert.deepEqual(told, [`${other.id} ready`]);
    assert.deepEqual(
      warnings.map((fields) => 'assetId' in fields && fields.assetId),
      [asset.id, other.id],
    );
    answer({ isRunning: false, extent: { ...SOME_EXTENT, tracks: [] } } as unknown as Recorded);
    await waitFor(() => told.length === 3, { what: 'the recording in the bucket' });
    assert.deepEqual(told.slice(1), [`${asset.id} ready`, `${asset.id} stored`]);
    assert.equal(warnings.length, 2);
  });

  it('end although the bucket hangs', async () => {
    const asset = recording({ phase: 'storing' });
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const open = () => {
      asked();
      return new Promise<undefined>(() => {});
    };
    const { settlements } = settlementsOf([asset], { settle: async () => undefined }, { open }, { bucketWithinMs: 5 });
    await isAsked;
    await settlements[Symbol.asyncDispose]();
  });

  it('leave a recording alone that another node has ended, until its recorder on this node has ended', async () => {
    const asset = recording({ phase: 'storing' });
    let isRunning = true;
    let rounds = 0;
    const { settlements, told } = settlementsOf([asset], {
      running: () => {
        rounds += 1;
        return isRunning ? ({ extent: SOME_EXTENT } as never) : undefined;
      },
      settle: async () => {
        assert.equal(isRunning, false, 'the recording of a session that goes on would end');
        return { ...SOME_EXTENT, tracks: [] };
      },
    });
    await using _settlements = settlements;
    await waitFor(() => rounds >= 2, { what: 'two rounds' });
    assert.deepEqual(told, []);
    isRunning = false;
    await waitFor(() => told.length === 1, { what: 'the round after the session has ended' });
    assert.deepEqual(told, [`${asset.id} ready`]);
  });

  it('try again while the store or the disk does not answer', async () => {
    const asset = recording({ phase: 'storing' });
    let attempts = 0;
    const { settlements, told, failNext } = settlementsOf([asset], {
      settle: async () => {
        attempts += 1;
        if (attempts === 1) throw new Error('the disk does not answer');
        return { ...SOME_EXTENT, tracks: [] };
      },
    });
    await using _settlements = settlements;
    failNext(1);
    await waitFor(() => told.length === 1, { what: 'the third attempt' });
    assert.equal(attempts, 3);
  });

  it('store the extent of a running recording from time to time', async () => {
    const asset = recording({ phase: 'recording' });
    const { settlements, told } = settlementsOf([asset], {
      running: () => ({ extent: { ...SOME_EXTENT, tracks: [] } }) as never,
    });
    await using _settlements = settlements;
    await waitFor(() => told.length >= 2, { what: 'two reports' });
    assert.equal(told[0], `${asset.id} progress`);
  });
});

/**
 * The store's assets.
 */
import type { AssetExtent } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isPlaybackId, newEventId, newPlaybackId, type SessionId, type UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { AssetFilter } from '#store/asset-store.ts';
import type { Engine, Query } from '#store/engine.ts';
import type { Scope } from '#store/page.ts';
import { changingOne } from '#store/prepared-query.ts';
import type { AssetEventType } from '#store/queries/asset-events.ts';
import {
  assetOfRow,
  assetQueries,
  locatedAssetOfRow,
  rowOfAsset,
  rowOfAssetChange,
  rowOfExtent,
} from '#store/queries/assets.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';
import { readMany } from './read-many.ts';
import { searchableList } from './searchable-list.ts';

type AssetQueries = ReturnType<typeof assetQueries>;

/** Makes the store's assets. */
export function assetRecords(runner: Runner, engine: Engine, clock: Clock): Store['assets'] {
  const assets = assetQueries(engine);
  const countOf = (user: UserId, atMost: number) => runner.count(assets.countUpTo({ user_id: user, limit: atMost }));
  const quota = new RowQuota({ what: 'clips', count: countOf, clock });

  const list = searchableList(runner, assets, assetOfRow, (filter: AssetFilter) => {
    const { id, playbackId, sessionId, streamId, clippedFrom, creatorId, phase, kind } = filter;
    return {
      ...(id !== undefined && { id }),
      ...(playbackId !== undefined && { playback_id: playbackId }),
      ...(sessionId !== undefined && { session_id: sessionId }),
      ...(streamId !== undefined && { stream_id: streamId }),
      ...(clippedFrom !== undefined && { clipped_from: clippedFrom }),
      ...(creatorId !== undefined && { creator_id: creatorId }),
      ...(phase !== undefined && { phase }),
      ...(kind !== undefined && { kind }),
    };
  });

  /** Makes a recording ready or failed. Returns whether that changed anything. */
  async function settle(row: Parameters<AssetQueries['settle']>[0]): Promise<boolean> {
    const types = ['recording.waiting', 'recording.ready', 'recording.failed', 'asset.ready'] as const;
    const [settled] = await runner.write([assets.settle(row), ...reportAsset(assets, row.id, types, row.updated_at)]);
    return settled !== 0;
  }

  async function remove(id: AssetId, scope: Scope, at: Milliseconds, run: (queries: Query[]) => Promise<boolean>) {
    const asset = await records.get(id, scope);
    if (asset === undefined) return false;
    const args = { id, ...ofScope(scope), at };
    const query = asset.kind === 'clip' ? assets.deleteClip(args) : assets.deleteRecording(args);
    return run([changingOne(query), ...reportAsset(assets, id, ['asset.deleted'], at)]);
  }

  const records: Store['assets'] = {
    ...list,

    get: (id, scope) => runner.cachedOne(assets.get({ id, ...ofScope(scope) }), assetOfRow),
    getMany: (ids, of) =>
      readMany(ids, (run) => runner.all(of === 'all' ? assets.getAny(run) : assets.getMany(run), assetOfRow)),
    byPlaybackId: (id, address) =>
      runner.strangersOne(
        isPlaybackId(id) ? assets.byPlaybackId({ playback_id: id }) : assets.get({ id: id as AssetId }),
        assetOfRow,
        address,
      ),
    byPath: (path, address) => runner.strangersOne(assets.byPath({ path }), locatedAssetOfRow, address),

    countOf,
    bytesOf: (user) => runner.count(assets.bytesOf({ user_id: user })),

    secondsOf: (user) => runner.count(assets.secondsOf({ user_id: user })),

    createClip: (clip, of, receipt, { atMost = 0 } = {}) =>
      quota.create(clip.userId, atMost, async () => {
        const created = changingOne(assets.createClip({ ...rowOfAsset(clip), of }));
        const reports = reportAsset(assets, clip.id, ['asset.created', 'asset.ready'], clip.createdAt);
        if (await runner.change([created, ...reports], [receipt])) return;
        throw new MillraceError(
          'not_found',
          'The recording that the clip is to be cut out of was deleted in the meantime.',
        );
      }),

    change: (id, scope, change, receipt) =>
      runner.change(
        [changingOne(assets.change({ id, ...ofScope(scope), at: receipt.audit.at, ...rowOfAssetChange(change) }))],
        [receipt],
      ),

    async delete(id, scope, receipt) {
      if (await remove(id, scope, receipt.audit.at, (queries) => runner.change(queries, [receipt]))) return true;
      if ((await records.get(id, scope)) === undefined) return false;
      throw new MillraceError('conflict', 'The recording still runs; end its session first.');
    },

    expire: (id, at) =>
      // Nothing changes when the recording was deleted in the meantime, or is still running.
      remove(id, 'everyone', at, async (queries) => (await runner.attempt(queries)) !== undefined),

    progress: async (id, extent) => (await runner.changed(assets.progress({ id, ...rowOfExtent(extent) }))) > 0,

    finish: (id, extent, at) => settle({ id, ...endOf(extent), updated_at: at, ...rowOfExtent(extent) }),
    fail: (id, failure, at) => settle({ id, phase: 'failed', failure, updated_at: at }),

    stored: async (id) => (await runner.changed(assets.stored({ id }))) > 0,

    // In a store that is not shared, the serving process has every recording.
    open: (node) => runner.all(assets.unsettled(engine.isShared ? { node_id: node } : {}), assetOfRow),
    clipsOf: (recording) => runner.all(assets.clipsOf({ session_id: recording as string as SessionId }), assetOfRow),

    async due({ now, endedBefore, limit }) {
      const due = await runner.all(assets.due({ now, limit }), assetOfRow);
      if (endedBefore === undefined || due.length === limit) return due;
      const known = new Set(due.map(({ id }) => id));
      const ended = await runner.all(assets.ended({ before: endedBefore, limit }), assetOfRow);
      return [...due, ...ended.filter(({ id }) => !known.has(id))].slice(0, limit);
    },

    oldest: (node, limit) => runner.all(assets.ended({ node_id: node, limit }), assetOfRow),

    deleting: ({ before, after = '', limit }) => runner.all(assets.deleting({ before, after, limit }), assetOfRow),

    async deleted(id) {
      await runner.write([assets.deleted({ id }), assets.reported({ asset_id: id })]);
    },

    forget: (before, limit) => runner.changed(assets.forget({ before, limit })),
  };
  return records;
}

/** The queries that create the asset of a session that was just created, if it is recorded. */
export function createRecording(assets: AssetQueries, sessionId: SessionId, at: Milliseconds | null): Query[] {
  return [
    assets.createRecording({ session_id: sessionId, playback_id: newPlaybackId() }),
    ...reportAsset(assets, sessionId as string as AssetId, ['recording.started', 'asset.created'], at),
  ];
}

/** The queries for the recording of a session whose end was just written. */
export function endRecording(assets: AssetQueries, sessionId: SessionId, at: Milliseconds | undefined): Query[] {
  return [
    assets.sessionEnded({ session_id: sessionId }),
    ...reportAsset(assets, sessionId as string as AssetId, ['recording.waiting'], at ?? null),
  ];
}

/** The queries that add the events which are due. The write must have changed the asset's row before. */
function reportAsset(
  assets: AssetQueries,
  id: AssetId,
  types: readonly AssetEventType[],
  at: Milliseconds | null,
): Query[] {
  return [
    ...types.map((type) => ({ ...assets.report({ type }, { id: newEventId(), asset_id: id, at }), addsEvents: true })),
    assets.reported({ asset_id: id }),
  ];
}

/** How a recording ends: without media there is nothing to keep. */
function endOf({ durationS }: AssetExtent) {
  return durationS > 0
    ? ({ phase: 'ready', failure: null } as const)
    : ({ phase: 'failed', failure: 'Nothing was recorded.' } as const);
}

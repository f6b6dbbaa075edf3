/**
 * Streams in the store.
 */
import { MillraceError } from '#domain/errors.ts';
import type { StreamId, UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import type { Engine } from '#store/engine.ts';
import { KeyShelves, onEveryShelf } from '#store/key-shelf.ts';
import { changingOne } from '#store/prepared-query.ts';
import { rangeArgs } from '#store/queries/lists.ts';
import {
  rowOfStream,
  rowOfStreamChange,
  type StreamListArgs,
  streamOfRow,
  streamQueries,
} from '#store/queries/streams.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { ListFilter, ListOptions, PageKey, Scope, Store } from '#store/store.ts';
import { countOf } from './count.ts';
import { readMany } from './read-many.ts';

const TAKEN = 'A stream with that id, key or playback id exists already.';

/** The store's streams. */
export function streamRecords(runner: Runner, { compiler, now }: Engine, clock: Clock): Store['streams'] {
  const streams = streamQueries(compiler, now);
  const shelves = new KeyShelves();
  const countOfUser = async (user: UserId, atMost: number) =>
    (await runner.one(streams.countUpTo({ user_id: user, limit: atMost }), ({ count }) => count)) ?? 0;
  const quota = new RowQuota({ what: 'streams', count: countOfUser, clock });

  const records: Store['streams'] = {
    create: (stream, receipt, { atMost = 0 } = {}) =>
      quota.create(stream.userId, atMost, async () => {
        await runner.change([streams.create(rowOfStream(stream, shelves))], [receipt], { taken: TAKEN });
      }),

    get: (id, scope) => runner.cachedOne(streams.get({ id, ...ofScope(scope) }), streamOfRow),

    getMany: (ids) => readMany(ids, (run) => runner.all(streams.getMany(run), streamOfRow)),

    async byStreamKey(key) {
      const query = streams.byStreamKeyHash(Object.fromEntries(onEveryShelf(key.hash()).entries()));
      return (await runner.strangersAll(query, streamOfRow)).find(({ streamKey }) => streamKey.equals(key));
    },

    byPlaybackId: (id) => runner.strangersOne(streams.byPlaybackId({ playback_id: id }), streamOfRow),

    countOf: countOfUser,

    list(scope, { limit, after, order, direction, filter }) {
      const choice = { order, direction, isActive: filter.isActive };
      const args = listArgs(scope, filter, direction, after);
      return runner.page(
        limit,
        (rows) => streams.page(choice, { ...args, limit: rows }),
        streamOfRow,
        (stream) => ({ at: stream[order], id: stream.id }),
      );
    },

    count: (scope, filter, order) =>
      countOf(filter, async (counted) => {
        const choice = { order, direction: 'asc', isActive: counted.isActive } as const;
        const query = streams.count(choice, listArgs(scope, counted, 'asc'));
        return (await runner.one(query, ({ count }) => count)) ?? 0;
      }),

    async change(id, scope, change, receipt, when) {
      const row = { id, ...ofScope(scope), ...rowOfStreamChange(change, shelves) };
      const queries =
        when === 'idle'
          ? [streams.hold({ id }), changingOne(streams.changeIdle(row))]
          : [changingOne(streams.change(row))];
      const announce = [{ type: 'stream_changed', streamId: id }] as const;
      if (await runner.change(queries, [receipt], { announce, taken: TAKEN })) return true;
      if (when === 'idle' && (await records.get(id, scope)) !== undefined) {
        throw new MillraceError(
          'conflict',
          'The stream is being published to; change this when its publisher has stopped.',
        );
      }
      return false;
    },

    async terminate(id, scope, { at, notWithinMs }, receipt) {
      const query = streams.terminate({ id, ...ofScope(scope), at, since: at - notWithinMs, until: at + notWithinMs });
      const announce = [{ type: 'stream_changed', streamId: id }] as const;
      if (await runner.change([changingOne(query)], [receipt], { announce })) return 'done';
      const stream = await records.get(id, scope);
      if (stream === undefined) return 'not_found';
      return { retryAfterMs: Math.max(1, (stream.lastTerminatedAt ?? at) + notWithinMs - at) };
    },

    delete(ids, scope, receipts) {
      const queries = ids.map((id, index) =>
        changingOne(streams.delete({ id, ...ofScope(scope), at: receipts[index]!.audit.at })),
      );
      return runner.change(queries, receipts, {
        announce: ids.map((streamId) => ({ type: 'stream_changed', streamId })),
      });
    },

    async setActivity(id, { isActive, lastSeen, health }, writer) {
      const row = { id, is_active: isActive ? 1 : 0, last_seen: lastSeen, health: health ?? null } as const;
      if (writer === undefined) {
        await runner.write([streams.setActivity(row)]);
        return true;
      }
      const queries = [streams.hold({ id }), streams.setActivityBy({ ...row, ...runner.writer(writer) })];
      return runner.writeAsOwner(queries, streams.ofWriter({ id, writer }));
    },
  };
  return records;
}

function listArgs(
  scope: Scope,
  { id, playbackId, creatorId, from, to }: ListFilter,
  direction: ListOptions['direction'],
  after?: PageKey,
): StreamListArgs {
  return {
    ...ofScope(scope),
    ...(id !== undefined && { id: id as StreamId }),
    ...(playbackId !== undefined && { playback_id: playbackId }),
    ...(creatorId !== undefined && { creator_id: creatorId }),
    ...rangeArgs({ from, to }, direction, after),
  };
}

/**
 * The store's streams.
 */
import { MillraceError } from '#domain/errors.ts';
import type { EventType } from '#domain/events.ts';
import { newEventId, type StreamId, type UserId } from '#domain/ids.ts';
import { searchableName } from '#domain/searchable-name.ts';
import type { Stream } from '#domain/stream.ts';
import type { Clock } from '#lib/clock.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { RECORDINGS_KEPT_MS } from '#store/asset-store.ts';
import type { Engine, Query } from '#store/engine.ts';
import { KeyShelves, onEveryShelf } from '#store/key-shelf.ts';
import type { PageKey, Scope } from '#store/page.ts';
import { changingOne } from '#store/prepared-query.ts';
import { assetQueries } from '#store/queries/assets.ts';
import { eventQueries, reportActivity, rowOfEvent } from '#store/queries/events.ts';
import { columnOfHealth } from '#store/queries/health-column.ts';
import { rangeArgs } from '#store/queries/lists.ts';
import {
  rowOfStream,
  rowOfStreamChange,
  type StreamListArgs,
  type StreamListChoice,
  streamOfRow,
  streamQueries,
} from '#store/queries/streams.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { ListFilter, ListOptions, Store } from '#store/store.ts';
import { countOf } from './count.ts';
import { searchCount, searchPage } from './name-search.ts';
import { readMany, runsOf } from './read-many.ts';

const TAKEN = 'A stream with this id, stream key or playback id already exists.';

/** Makes the store's streams. */
export function streamRecords(runner: Runner, engine: Engine, clock: Clock): Store['streams'] {
  const streams = streamQueries(engine);
  const events = eventQueries(engine.compiler, engine.now);
  const assets = assetQueries(engine);
  const shelves = new KeyShelves();
  const countOfUser = (user: UserId, atMost: number) =>
    runner.count(streams.countUpTo({ user_id: user, limit: atMost }));
  const quota = new RowQuota({ what: 'streams', count: countOfUser, clock });

  /** The query that adds an event about a stream. */
  const addEvent = (id: StreamId, type: EventType, at: Milliseconds, payload: object = {}): Query =>
    events.addOfStream({
      id: newEventId(),
      type,
      at,
      stream_id: id,
      session_id: null,
      payload: JSON.stringify(payload),
    });

  /** Makes a function that finds the row at a distance from the first row of a list, whatever the names are. */
  function nthOf(scope: Scope, filter: ListFilter, choice: StreamListChoice) {
    const { name: _, ...unnamed } = filter;
    return (after: PageKey | undefined, skip: number) => {
      const args = listArgs(scope, unnamed, choice.direction, after);
      return runner.one(streams.nth(choice, { ...args, skip }), (row) => row);
    };
  }

  const records: Store['streams'] = {
    create: (stream, receipt, { atMost = 0 } = {}) =>
      quota.create(stream.userId, atMost, async () => {
        const { id, userId, name, playbackId } = stream;
        const created = events.add(
          rowOfEvent({
            id: newEventId(),
            type: 'stream.created',
            at: receipt.audit.at,
            userId,
            streamId: id,
            sessionId: undefined,
            payload: { name, playbackId },
          }),
        );
        await runner.change([streams.create(rowOfStream(stream, shelves)), created], [receipt], { taken: TAKEN });
      }),

    get: (id, scope) => runner.cachedOne(streams.get({ id, ...ofScope(scope) }), streamOfRow),

    getMany: (ids, of) =>
      readMany(ids, (run) => runner.all(of === 'all' ? streams.getAny(run) : streams.getMany(run), streamOfRow)),

    suspendedAmong: async (ids) =>
      new Set(await readMany([...new Set(ids)], (run) => runner.all(streams.suspended(run), ({ id }) => id))),

    active: (node) => runner.all(streams.active(node === undefined ? {} : { node_id: node }), streamOfRow),

    async byStreamKey(key, address) {
      const query = streams.byStreamKeyHash(Object.fromEntries(onEveryShelf(key.hash()).entries()));
      return (await runner.strangersAll(query, streamOfRow, address)).find(({ streamKey }) => streamKey.equals(key));
    },

    async formerly(key, since) {
      const byFormerKey = streams.byFormerKeyHash({ key_hash: key.hash(), since });
      const [replaced] = await runner.strangersAll(
        byFormerKey,
        (row) => ({ stream: streamOfRow(row), replacedAt: row.replaced_at }),
        undefined,
      );
      if (replaced !== undefined) return replaced;
      const hashes = Object.fromEntries(onEveryShelf(key.hash()).entries());
      const [stream] = await runner.strangersAll(
        streams.deletedByStreamKeyHash({ ...hashes, since } as never),
        streamOfRow,
        undefined,
      );
      return stream && { stream, replacedAt: undefined };
    },

    async forgetFormerKeys(before, limit) {
      const [forgotten] = await runner.write([streams.forgetFormerKeys({ before, limit })]);
      return forgotten ?? 0;
    },

    byPlaybackId: (id, address) => runner.strangersOne(streams.byPlaybackId({ playback_id: id }), streamOfRow, address),

    countOf: countOfUser,

    list(scope, { limit, after, order, direction, filter }) {
      const choice = { order, direction, isActive: filter.isActive };
      const keyOf = (stream: Stream) => ({ at: stream[order], id: stream.id });
      if (filter.name === undefined) {
        const args = listArgs(scope, filter, direction, after);
        return runner.page(limit, (rows) => streams.page(choice, { ...args, limit: rows }), streamOfRow, keyOf);
      }
      const matches = (start: PageKey | undefined, end: PageKey | undefined, rows: number, maxBytes: number) => {
        const args = listArgs(scope, filter, direction, start, end);
        return runner.first(streams.searchPage(choice, { ...args, limit: rows }), streamOfRow, maxBytes);
      };
      return searchPage({ nth: nthOf(scope, filter, choice), matches, keyOf }, { limit, after });
    },

    count: (scope, filter, order) =>
      countOf(filter, (counted) => {
        const choice = { order, direction: 'asc', isActive: counted.isActive } as const;
        const count = (start?: PageKey, end?: PageKey) =>
          runner.count(streams.count(choice, listArgs(scope, counted, 'asc', start, end)));
        return filter.name === undefined ? count() : searchCount(nthOf(scope, counted, choice), count);
      }),

    async change(id, scope, change, receipt, when) {
      const row = { id, ...ofScope(scope), ...rowOfStreamChange(change, shelves) };
      const queries =
        when === 'idle'
          ? [streams.hold({ id }), changingOne(streams.changeIdle(row))]
          : [changingOne(streams.change(row))];
      // Must run before the change replaces the key. If the caller may not make the change, the change fails and this is undone, too.
      if (change.streamKey !== undefined) queries.unshift(streams.keepFormerKey({ id, replaced_at: receipt.audit.at }));
      queries.push(addEvent(id, 'stream.updated', receipt.audit.at, { fields: Object.keys(change) }));
      const announce = [{ type: 'stream_changed', streamId: id }] as const;
      if (await runner.change(queries, [receipt], { announce, taken: TAKEN })) return true;
      if (when === 'idle' && (await records.get(id, scope)) !== undefined) {
        throw new MillraceError('conflict', 'The stream has a publisher; change this after the publisher has stopped.');
      }
      return false;
    },

    async terminate(id, scope, { at, notWithinMs }, receipt) {
      const query = streams.terminate({ id, ...ofScope(scope), at, since: at - notWithinMs, until: at + notWithinMs });
      const announce = [{ type: 'stream_changed', streamId: id }] as const;
      const updated = addEvent(id, 'stream.updated', at, { fields: ['lastTerminatedAt'] });
      if (await runner.change([changingOne(query), updated], [receipt], { announce })) return 'done';
      const stream = await records.get(id, scope);
      if (stream === undefined) return 'not_found';
      return { retryAfterMs: Math.max(1, (stream.lastTerminatedAt ?? at) + notWithinMs - at) };
    },

    delete(ids, scope, receipts) {
      const queries = ids.flatMap((id, index) => {
        const { at } = receipts[index]!.audit;
        return [
          changingOne(streams.delete({ id, ...ofScope(scope), at })),
          addEvent(id, 'stream.deleted', at),
          assets.deleteLater({ stream_id: id, at: ms(at + RECORDINGS_KEPT_MS) }),
        ];
      });
      return runner.change(queries, receipts, {
        announce: ids.map((streamId) => ({ type: 'stream_changed', streamId })),
      });
    },

    async forgetDeleted(before, limit) {
      const ids = await runner.all(streams.deletedBefore({ before, limit }), ({ id }) => id);
      for (const run of runsOf(ids)) await runner.write([streams.deleteUnused(run), streams.empty(run)]);
      return ids.length;
    },

    async setActivity(id, { isActive, lastSeen, health, at }, writer) {
      const row = { id, is_active: isActive ? 1 : 0, last_seen: lastSeen, health: columnOfHealth(health) } as const;
      const reports = reportActivity(events, { id: newEventId(), streamId: id, at: at ?? null });
      if (writer === undefined) {
        await runner.write([streams.setActivity(row), ...reports]);
        return true;
      }
      const queries = [streams.hold({ id }), streams.setActivityBy({ ...row, ...runner.writer(writer) })];
      return runner.writeAsOwner(queries, streams.ofWriter({ id, writer }), reports);
    },
  };
  return records;
}

function listArgs(
  scope: Scope,
  { id, playbackId, creatorId, name, from, to }: ListFilter,
  direction: ListOptions['direction'],
  after?: PageKey,
  until?: PageKey,
): StreamListArgs {
  return {
    ...ofScope(scope),
    ...(id !== undefined && { id: id as StreamId }),
    ...(playbackId !== undefined && { playback_id: playbackId }),
    ...(creatorId !== undefined && { creator_id: creatorId }),
    ...(name !== undefined && { name_search: searchableName(name) }),
    ...rangeArgs({ from, to }, direction, after, until),
  };
}

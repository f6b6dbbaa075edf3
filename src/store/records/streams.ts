/**
 * The store's streams.
 */
import { MillraceError } from '#domain/errors.ts';
import type { EventType } from '#domain/events.ts';
import { newEventId, type StreamId, type UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { whenKnown } from '#lib/soon.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { RECORDINGS_KEPT_MS } from '#store/asset-store.ts';
import type { Engine, Query } from '#store/engine.ts';
import { KeyShelves, onEveryShelf } from '#store/key-shelf.ts';
import { isInScope } from '#store/page.ts';
import { changingOne } from '#store/prepared-query.ts';
import { assetQueries } from '#store/queries/assets.ts';
import { eventQueries, reportActivity, rowOfEvent } from '#store/queries/events.ts';
import { columnOfHealth } from '#store/queries/health-column.ts';
import { rowOfStream, rowOfStreamChange, streamOfRow, streamQueries } from '#store/queries/streams.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { ListFilter, Store } from '#store/store.ts';
import { readMany, runsOf } from './read-many.ts';
import { searchableList } from './searchable-list.ts';

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

  const list = searchableList(runner, streams, streamOfRow, ({ id, playbackId, creatorId }: ListFilter) => ({
    ...(id !== undefined && { id: id as StreamId }),
    ...(playbackId !== undefined && { playback_id: playbackId }),
    ...(creatorId !== undefined && { creator_id: creatorId }),
  }));

  const records: Store['streams'] = {
    ...list,

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

    get: (id, scope) =>
      whenKnown(runner.cachedSoon(streams.get({ id }), streamOfRow), (stream) =>
        stream !== undefined && isInScope(scope, stream.userId) ? stream : undefined,
      ),

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

    forgetFormerKeys: (before, limit) => runner.changed(streams.forgetFormerKeys({ before, limit })),

    byPlaybackId: (id, address) => runner.strangersOne(streams.byPlaybackId({ playback_id: id }), streamOfRow, address),

    countOf: countOfUser,

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

/**
 * Sessions in the store.
 */
import type { NodeId, SessionId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { type Engine, Unchanged } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import { rangeArgs } from '#store/queries/lists.ts';
import {
  locatedSessionOfRow,
  rowOfSession,
  rowOfSessionChange,
  type SessionListArgs,
  sessionOfRow,
  sessionQueries,
} from '#store/queries/sessions.ts';
import { streamQueries } from '#store/queries/streams.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { ListFilter, ListOptions, PageKey, Scope, Store } from '#store/store.ts';
import { countOf } from './count.ts';

/** The store's sessions. */
export function sessionRecords(runner: Runner, { compiler, now, isShared }: Engine): Store['sessions'] {
  const sessions = sessionQueries(compiler, now);
  const streams = streamQueries(compiler, now);

  /**
   * Creates a session of a stream that no other node has taken. When another node has taken the stream, it only changes the session if
   * that exists already, as the session's node still may.
   */
  async function createBy(session: Session, writer: NodeId): Promise<boolean> {
    const id = session.streamId;
    const mustOwn = changingOne(streams.mustBeOf({ id, ...runner.writer(writer) }));
    try {
      const changes = await runner.write([streams.hold({ id }), mustOwn, sessions.create(rowOfSession(session))]);
      return changes.at(-1) !== 0;
    } catch (error) {
      if (!(error instanceof Unchanged)) throw error;
      await runner.mustHaveLapsed(streams.ofWriter({ id, writer }));
      return records.change(session.id, session, writer);
    }
  }

  const records: Store['sessions'] = {
    async create(session, writer) {
      if (writer !== undefined) return createBy(session, writer);
      const [created] = await runner.write([sessions.create(rowOfSession(session))]);
      return created !== 0;
    },

    get: (id, scope) => runner.cachedOne(sessions.get({ id, ...ofScope(scope) }), sessionOfRow),

    async change(id, change, writer) {
      const row = rowOfSessionChange(change);
      if (Object.keys(row).length === 0) return true;
      if (writer === undefined) {
        const [changed] = await runner.write([sessions.change({ id, ...row })]);
        return changed !== 0;
      }
      const query = sessions.changeBy({ id, ...row, ...runner.writer(writer) });
      return runner.writeAsOwner([query], sessions.ofWriter({ id, writer }));
    },

    async resume({ id, streamId }, change, writer) {
      const row = { ...rowOfSessionChange(change), ended_at: null, end_reason: null };
      const queries = [streams.hold({ id: streamId }), sessions.resume({ id, ...row, ...runner.writer(writer) })];
      return runner.writeAsOwner(queries, sessions.resumable({ id, writer }));
    },

    list(scope, { limit, after, order, direction, filter }) {
      const choice = { order, direction, isActive: filter.isActive };
      const args = listArgs(scope, filter, direction, after);
      return runner.page(
        limit,
        (rows) => sessions.page(choice, { ...args, limit: rows }),
        sessionOfRow,
        (session) => ({ at: session[order], id: session.id }),
      );
    },

    count: (scope, filter, order) =>
      countOf(filter, async (counted) => {
        const choice = { order, direction: 'asc', isActive: counted.isActive } as const;
        const query = sessions.count(choice, listArgs(scope, counted, 'asc'));
        return (await runner.one(query, ({ count }) => count)) ?? 0;
      }),

    async ofNode(node, phases) {
      // Whoever serves a store that is not shared owns every session in it, also those of before there were nodes.
      const open = isShared ? sessions.openOfNode({ node_id: node }) : sessions.open({});
      return (await runner.all(open, sessionOfRow)).filter(({ phase }) => phases.some((asked) => asked === phase));
    },

    openOf: (stream) => runner.all(sessions.openOfStream({ stream_id: stream }), sessionOfRow),
    newest: (playbackId) => runner.strangersOne(sessions.newest({ playback_id: playbackId }), locatedSessionOfRow),
    byMediaPath: (path) => runner.strangersOne(sessions.byMediaPath({ media_path: path }), locatedSessionOfRow),

    async deleteEnded(before, limit) {
      const [deleted] = await runner.write([sessions.deleteEnded({ before, limit })]);
      return deleted ?? 0;
    },

    usersWithEnded: (since) => runner.all(sessions.usersWithEnded({ since }), (row) => row.user_id),

    async deleteBeyond(user, keep, limit) {
      const newest = await runner.one(sessions.newestNotKept({ user_id: user, keep }), (row) => row);
      if (newest === undefined) return 0;
      const [deleted] = await runner.write([sessions.deleteEndedUpTo({ user_id: user, ...newest, limit })]);
      return deleted ?? 0;
    },
  };
  return records;
}

function listArgs(
  scope: Scope,
  { id, playbackId, parentId, record, from, to }: ListFilter,
  direction: ListOptions['direction'],
  after?: PageKey,
): SessionListArgs {
  return {
    ...ofScope(scope),
    ...(id !== undefined && { id: id as SessionId }),
    ...(playbackId !== undefined && { playback_id: playbackId }),
    ...(parentId !== undefined && { stream_id: parentId }),
    ...(record !== undefined && { record: record ? 1 : 0 }),
    ...rangeArgs({ from, to }, direction, after),
  };
}

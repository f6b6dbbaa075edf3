/**
 * The store's sessions.
 */
import { type NodeId, newEventId, type SessionId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Engine, Query } from '#store/engine.ts';
import type { PageKey } from '#store/page.ts';
import { changingOne } from '#store/prepared-query.ts';
import { assetQueries } from '#store/queries/assets.ts';
import { eventQueries, reportPhase } from '#store/queries/events.ts';
import {
  type DeleteSessions,
  locatedSessionOfRow,
  type OldSessionArgs,
  type OldSessionQueries,
  rowOfSession,
  rowOfSessionChange,
  sessionOfRow,
  sessionQueries,
} from '#store/queries/sessions.ts';
import { streamQueries } from '#store/queries/streams.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { ListFilter, Store } from '#store/store.ts';
import { createRecording, endRecording } from './assets.ts';
import { type OldSessionList, OldSessions } from './old-sessions.ts';
import { searchableList } from './searchable-list.ts';

/** How many samples one write may delete for each session that the caller lets it delete. A session of a day has 1,440 samples. */
const SAMPLES_OF_SESSION = 4;

/** Makes the store's sessions. */
export function sessionRecords(runner: Runner, engine: Engine, clock: Clock): Store['sessions'] {
  const old = new OldSessions(clock);
  const sessions = sessionQueries(engine);
  const streams = streamQueries(engine);
  const events = eventQueries(engine.compiler, engine.now);
  const assets = assetQueries(engine);

  /** The queries that add the events for what a write changed in a session's phase. */
  const reported = (sessionId: SessionId, at?: Milliseconds) =>
    reportPhase(events, { ids: [newEventId(), newEventId()], sessionId, at: at ?? null });

  /**
   * The queries that go with every creation of a session, in the same write. A short session may have ended already. Then everything about
   * its beginning is reported before its end.
   */
  function alsoCreated(session: Session, at?: Milliseconds): Query[] {
    const [start, ...end] = reported(session.id, at);
    return [
      start,
      ...(session.recordingPath === undefined ? [] : createRecording(assets, session.id, at ?? null)),
      ...end,
      ...(session.phase === 'ended' ? endRecording(assets, session.id, session.endedAt) : []),
    ];
  }

  /**
   * Creates a session of a stream that no other node has claimed. When another node has claimed the stream, an existing session is changed,
   * as its node still may, and none is created.
   */
  async function createBy(session: Session, writer: NodeId, at?: Milliseconds): Promise<boolean> {
    const id = session.streamId;
    const mustOwn = changingOne(streams.mustBeOf({ id, ...runner.writer(writer) }));
    const create = sessions.create(rowOfSession(session));
    const changes = await runner.attempt([streams.hold({ id }), mustOwn, create, ...alsoCreated(session, at)]);
    if (changes !== undefined) return changes[2] !== 0;
    await runner.mustHaveLapsed(streams.ofWriter({ id, writer }));
    return records.change(session.id, session, writer);
  }

  const list = searchableList(runner, sessions, sessionOfRow, ({ id, playbackId, parentId, record }: ListFilter) => ({
    ...(id !== undefined && { id: id as SessionId }),
    ...(playbackId !== undefined && { playback_id: playbackId }),
    ...(parentId !== undefined && { stream_id: parentId }),
    ...(record !== undefined && { record: record ? (1 as const) : (0 as const) }),
  }));

  /** Deletes chosen sessions, or only samples of them when there are many. Returns `limit` when another call may find more to delete. */
  async function deleteSome<Args extends { readonly limit: number }>(
    queries: DeleteSessions<Args>,
    args: Args,
  ): Promise<number> {
    const samples = SAMPLES_OF_SESSION * args.limit;
    const deleted = await runner.changed(queries.samples({ ...args, samples }));
    return deleted === samples ? args.limit : runner.changed(queries.sessions(args));
  }

  /** Makes a list of old sessions. @param name its name @param last where it ends @param args the other arguments of its queries */
  function oldList<Args extends object>(
    name: string,
    queries: OldSessionQueries<Args & OldSessionArgs>,
    last: PageKey,
    args: Args,
  ): OldSessionList {
    const window = (after: PageKey | undefined, until = last): Args & OldSessionArgs => ({
      ...args,
      ...(after !== undefined && { after_at: after.at, after_id: after.id }),
      until_at: until.at,
      until_id: until.id,
    });
    return {
      name,
      nth: (after, skip) => runner.one(queries.nth({ ...window(after), skip }), (row) => row),
      hasAny: (after, until) => runner.exists(queries.any(window(after, until))),
      deleteSome: (after, until, limit) => deleteSome(queries.delete, { ...window(after, until), limit }),
    };
  }

  const records: Store['sessions'] = {
    ...list,

    async create(session, writer, at) {
      if (writer !== undefined) return createBy(session, writer, at);
      const [created] = await runner.write([sessions.create(rowOfSession(session)), ...alsoCreated(session, at)]);
      return created !== 0;
    },

    async adopt(session, receipt) {
      // A row of the session may be left that `create` does not change, because it is of another node, or its node was lost.
      await runner.change([sessions.create(rowOfSession(session)), ...alsoCreated(session)], [receipt]);
    },

    get: (id, scope) => runner.cachedOne(sessions.get({ id, ...ofScope(scope) }), sessionOfRow),

    async change(id, change, writer) {
      const row = rowOfSessionChange(change);
      if (Object.keys(row).length === 0) return true;
      const reports: Query[] = change.phase === undefined ? [] : [...reported(id)];
      if (change.phase === 'ended') reports.push(...endRecording(assets, id, change.endedAt));
      if (writer === undefined) {
        const [changed] = await runner.write([sessions.change({ id, ...row }), ...reports]);
        return changed !== 0;
      }
      const query = sessions.changeBy({ id, ...row, ...runner.writer(writer) });
      return runner.writeAsOwner([query], sessions.ofWriter({ id, writer }), reports);
    },

    async resume({ id, streamId }, change, writer) {
      const row = { ...rowOfSessionChange(change), ended_at: null, end_reason: null };
      const queries = [streams.hold({ id: streamId }), sessions.resume({ id, ...row, ...runner.writer(writer) })];
      const reports = [...reported(id), assets.sessionResumed({ session_id: id })];
      return runner.writeAsOwner(queries, sessions.resumable({ id, writer }), reports);
    },

    async ofNode(node, phases) {
      // In a store that is not shared, the serving process owns every session, including those from versions without nodes.
      const open = engine.isShared ? sessions.openOfNode({ node_id: node }) : sessions.open({});
      return (await runner.all(open, sessionOfRow)).filter(({ phase }) => phases.some((asked) => asked === phase));
    },

    openOf: (stream) => runner.all(sessions.openOfStream({ stream_id: stream }), sessionOfRow),
    newest: (playbackId, address) =>
      runner.strangersOne(sessions.newest({ playback_id: playbackId }), locatedSessionOfRow, address),
    byMediaPath: (path, address) =>
      runner.strangersOne(sessions.byMediaPath({ media_path: path }), locatedSessionOfRow, address),

    async deleteEnded(before, limit) {
      return old.delete(oldList('ended', sessions.ended, { at: before, id: '' }, {}), limit);
    },

    usersWithEnded: (since) => runner.all(sessions.usersWithEnded({ since }), (row) => row.user_id),

    async deleteBeyond(user, keep, limit) {
      const newest = await runner.one(sessions.newestNotKept({ user_id: user, keep }), (row) => row);
      if (newest === undefined) return 0;
      return old.delete(
        oldList(user, sessions.endedOfUser, { at: newest.created_at, id: newest.id }, { user_id: user }),
        limit,
      );
    },
  };
  return records;
}

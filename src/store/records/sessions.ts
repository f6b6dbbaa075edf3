/**
 * Sessions in the store.
 */
import type { SessionId } from '#domain/ids.ts';
import type { Engine } from '#store/engine.ts';
import { rangeArgs } from '#store/queries/lists.ts';
import {
  locatedSessionOfRow,
  rowOfSession,
  rowOfSessionChange,
  type SessionListArgs,
  sessionOfRow,
  sessionQueries,
} from '#store/queries/sessions.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { ListFilter, ListOptions, PageKey, Scope, Store } from '#store/store.ts';
import { countOf } from './count.ts';

/** The store's sessions. */
export function sessionRecords(runner: Runner, { compiler, now, isShared }: Engine): Store['sessions'] {
  const sessions = sessionQueries(compiler, now);

  return {
    async create(session) {
      await runner.write([sessions.create(rowOfSession(session))]);
    },

    get: (id, scope) => runner.cachedOne(sessions.get({ id, ...ofScope(scope) }), sessionOfRow),

    async change(id, change) {
      const row = rowOfSessionChange(change);
      if (Object.keys(row).length > 0) await runner.write([sessions.change({ id, ...row })]);
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
    newest: (playbackId) => runner.cachedOne(sessions.newest({ playback_id: playbackId }), locatedSessionOfRow),
    byMediaPath: (path) => runner.cachedOne(sessions.byMediaPath({ media_path: path }), locatedSessionOfRow),

    async deleteEnded(before, limit) {
      const [deleted] = await runner.write([sessions.deleteEnded({ before, limit })]);
      return deleted ?? 0;
    },
  };
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

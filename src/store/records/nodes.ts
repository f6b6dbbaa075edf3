/**
 * The store's nodes.
 */
import { type NodeId, newEventId } from '#domain/ids.ts';
import { newClusterSecret, Secret } from '#domain/secret.ts';
import type { Session } from '#domain/session.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Engine, Query } from '#store/engine.ts';
import { urgent } from '#store/prepared-query.ts';
import { assetQueries } from '#store/queries/assets.ts';
import { eventQueries, reportActivity, reportPhase } from '#store/queries/events.ts';
import { nodeQueries } from '#store/queries/nodes.ts';
import { publisherQueries } from '#store/queries/publishers.ts';
import { rowOfSessionChange, sessionOfRow, sessionQueries } from '#store/queries/sessions.ts';
import { streamQueries } from '#store/queries/streams.ts';
import type { Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';
import { endRecording } from './assets.ts';

/** The name of the secret that all nodes share. */
const CLUSTER = 'cluster';
/** The number of streams whose sessions are ended by one write. Thousands at once would take longer than a write may. */
const BATCH = 100;

/** Makes the store's nodes. */
export function nodeRecords(runner: Runner, engine: Engine): Store['nodes'] {
  const nodes = nodeQueries(engine.compiler, engine.now);
  const publishers = publisherQueries(engine.compiler, engine.now);
  const sessions = sessionQueries(engine);
  const streams = streamQueries(engine);
  const events = eventQueries(engine.compiler, engine.now);
  const assets = assetQueries(engine);
  /** Nodes that have renewed their lease through this store. */
  const known = new Set<NodeId>();

  return {
    async renew(node, leaseMs) {
      const row = { ...node, lease_until: ms(leaseMs), incarnation: runner.incarnation };
      const isKnown = known.has(node.id);
      const queries: Query[] = [urgent(nodes.renewHeld(row)), nodes.renew(row)];
      // A process that starts has no connected publisher. An earlier process of the node that was killed may have left some.
      if (!isKnown) queries.push(publishers.releaseAll({ node_id: node.id }));
      const [held] = await runner.write(queries);
      known.add(node.id);
      // The lease is also missing when other nodes have deleted this one, after ending all that it owned.
      return { hadLapsed: isKnown && held === 0 };
    },

    async leave(id) {
      await runner.write([publishers.releaseAll({ node_id: id }), nodes.leave({ id }), nodes.forget({ id })]);
    },

    async clusterSecret() {
      const known = await runner.one(nodes.secret({ name: CLUSTER }), ({ value }) => new Secret(value));
      if (known !== undefined) return known;
      await runner.write([nodes.makeSecret({ name: CLUSTER, value: newClusterSecret().reveal() })]);
      const made = await runner.one(nodes.secret({ name: CLUSTER }), ({ value }) => new Secret(value));
      if (made === undefined) throw new Error('a secret that was just created is missing');
      return made;
    },

    time: async () => (await runner.one(nodes.time({}), ({ time }) => time)) ?? ms(0),

    list: () =>
      runner.all(nodes.list({}), ({ id, url, lease_left: leaseLeftMs, sessions: open, publishers: connected }) => ({
        id,
        url,
        leaseLeftMs,
        sessions: open,
        publishers: connected,
      })),

    lapsed: () => runner.all(urgent(nodes.lapsed({})), ({ id }) => id),

    async endSessionsOf(id, at) {
      const open = await runner.all(sessions.openOfNode({ node_id: id }), sessionOfRow);
      // A stream becomes active before its first session is stored.
      const active = await runner.all(streams.active({ node_id: id }), (row) => row.id);
      const streamIds = [...new Set([...open.map(({ streamId }) => streamId), ...active])];
      const ofStream = Map.groupBy(open, ({ streamId }) => streamId);
      const ended: Session[] = [];
      for (let first = 0; first < streamIds.length; first += BATCH) {
        const batch = streamIds.slice(first, first + BATCH);
        const lost = batch.flatMap((streamId) => ofStream.get(streamId) ?? []).map((session) => endOf(session, at));
        const changed = await runner.write([
          ...lost.map(({ session, end }) => sessions.endLost({ id: session.id, ...rowOfSessionChange(end) })),
          ...batch.map((streamId) => streams.setIdle({ id: streamId, node_id: id })),
          ...lost.flatMap(({ session, end }) => [
            ...reportPhase(events, { ids: [newEventId(), newEventId()], sessionId: session.id }),
            ...endRecording(assets, session.id, end.endedAt),
          ]),
          ...batch.flatMap((streamId) => reportActivity(events, { id: newEventId(), streamId })),
        ]);
        ended.push(
          ...lost.filter((_, index) => changed[index] === 1).map(({ session, end }) => ({ ...session, ...end })),
        );
      }
      await runner.write([publishers.releaseLost({ node_id: id }), nodes.forget({ id })]);
      return ended;
    },
  };
}

/** A session of a lost node, and its end, which is not before it was last seen: the clocks of the two nodes may differ. */
function endOf(session: Session, at: Milliseconds) {
  const end = {
    phase: 'ended',
    endedAt: ms(Math.max(at, session.createdAt, session.lastSeen)),
    endReason: 'node_lost',
    reconnectUntil: undefined,
    viewers: 0,
    health: undefined,
  } as const;
  return { session, end };
}

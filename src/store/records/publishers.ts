/**
 * The store's publishers: the nodes that the publishers of streams are connected to.
 */
import { type NodeId, newEventId, type StreamId } from '#domain/ids.ts';
import type { Engine } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import { eventQueries, reportActivity } from '#store/queries/events.ts';
import { nodeQueries } from '#store/queries/nodes.ts';
import { publisherQueries } from '#store/queries/publishers.ts';
import { streamQueries } from '#store/queries/streams.ts';
import type { Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';
import { storeUnavailable } from '#store/unavailable.ts';
import { readMany } from './read-many.ts';

/** Makes the store's publishers. */
export function publisherRecords(runner: Runner, engine: Engine): Store['publishers'] {
  const nodes = nodeQueries(engine.compiler, engine.now);
  const publishers = publisherQueries(engine.compiler, engine.now);
  const streams = streamQueries(engine);
  const events = eventQueries(engine.compiler, engine.now);
  return {
    async claim(stream, node) {
      const writer = runner.writer(node);
      const queries = [
        streams.passTo({ id: stream, writer: node }),
        changingOne(publishers.claim({ stream_id: stream, ...writer })),
        ...reportActivity(events, { id: newEventId(), streamId: stream }),
      ];
      const announcement = { type: 'stream_published', streamId: stream, nodeId: node } as const;
      if ((await runner.attempt(queries, [announcement])) !== undefined) return true;
      if (await runner.exists(nodes.heldBy(writer))) return false;
      throw storeUnavailable('this node does not hold its lease');
    },

    async release(stream, node) {
      await runner.write([publishers.release({ stream_id: stream, ...runner.writer(node) })]);
    },

    async ownersOf(ids) {
      const rows = await readMany(ids, (run) =>
        runner.all(publishers.ownersOf(run), (row): [StreamId, NodeId] => [row.stream_id, row.node_id]),
      );
      return new Map(rows);
    },
  };
}

/**
 * Queries on the nodes that the publishers of streams are connected to.
 *
 * The node that claimed a stream last owns it, even after the publisher has gone. Until another node claims the stream, only the owner
 * decides whether it is active. Whoever claims a stream first locks its row (`hold` in `streams.ts`), so that nothing that depends on the
 * owner changes in the meantime.
 */
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { NodeId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, PublishersTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import { holdsLease, isAlive, type WriterArgs } from './nodes.ts';

type OfStream = Pick<PublishersTable, 'stream_id'>;

/** Whether no other node has claimed a stream since this one did. @param stream a reference to the column with its id */
export const isNotTakenFrom = (stream: RawBuilder<unknown>, node: NodeId): RawBuilder<SqlBool> =>
  sql`not exists (select 1 from publishers where publishers.stream_id = ${stream} and publishers.node_id <> ${node})`;

/** Whether the publisher of a row of {@link PublishersTable} is connected to a live node. */
export const isPublished = (now: RawBuilder<Milliseconds>): RawBuilder<SqlBool> =>
  sql`(publishers.connected = 1 and ${isAlive(now, sql.ref('publishers.node_id'))})`;

/** Prepares the queries for one dialect. @param now SQL for the database's clock */
export function publisherQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>) {
  return {
    /**
     * Claims a stream for a node. Changes nothing while a publisher is connected to another live node, or while the process does not hold
     * the lease of its node.
     */
    claim: prepare(({ stream_id, writer, incarnation }: OfStream & WriterArgs) =>
      db
        .insertInto('publishers')
        .columns(['stream_id', 'node_id', 'connected'])
        .expression(
          db
            .selectNoFrom((eb) => [
              eb.val(stream_id).as('stream_id'),
              eb.val(writer).as('node_id'),
              sql.lit(1 as const).as('connected'),
            ])
            .where(holdsLease(now, { writer, incarnation })),
        )
        .onConflict((conflict) =>
          conflict
            .column('stream_id')
            .doUpdateSet((eb) => ({ node_id: eb.ref('excluded.node_id'), connected: eb.ref('excluded.connected') }))
            .where((eb) =>
              eb.or([eb('publishers.node_id', '=', eb.ref('excluded.node_id')), eb.not(isPublished(now))]),
            ),
        ),
    ),

    /** Releases a stream. This needs no lease, but the process must be the same, because a later one may have claimed the stream again. */
    release: prepare(({ stream_id, writer, incarnation }: OfStream & WriterArgs) =>
      db
        .updateTable('publishers')
        .set({ connected: sql.lit(0 as const) })
        .where('stream_id', '=', stream_id)
        .where('node_id', '=', writer)
        .where(
          sql<boolean>`exists (select 1 from nodes where nodes.id = ${writer} and nodes.incarnation = ${incarnation})`,
        ),
    ),

    /** Releases the streams of a node that starts or stops. */
    releaseAll: prepare((args: Pick<PublishersTable, 'node_id'>) =>
      db
        .updateTable('publishers')
        .set({ connected: sql.lit(0 as const) })
        .where('node_id', '=', args.node_id)
        .where('connected', '=', sql.lit(1 as const)),
    ),

    /** Releases the streams of a node if its lease has run out. */
    releaseLost: prepare((args: Pick<PublishersTable, 'node_id'>) =>
      db
        .updateTable('publishers')
        .set({ connected: sql.lit(0 as const) })
        .where('node_id', '=', args.node_id)
        .where('connected', '=', sql.lit(1 as const))
        .where((eb) => eb.not(isAlive(now, sql.ref('publishers.node_id')))),
    ),

    /** Finds the owners of streams. @param ids the ids under any keys; always the same number, so that the query is compiled once */
    ownersOf: prepare((ids: Readonly<Record<string, PublishersTable['stream_id']>>) =>
      db.selectFrom('publishers').select(['stream_id', 'node_id']).where('stream_id', 'in', Object.values(ids)),
    ),
  };
}

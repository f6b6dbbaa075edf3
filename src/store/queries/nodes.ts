/**
 * Queries on nodes and on the publishers connected to them. Every time is the database's own.
 */
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { NodeId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, NodesTable, PublishersTable, SecretsTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';

type Id = Pick<NodesTable, 'id'>;

/** Whether a node holds its lease. @param node its id, or a reference to the column with it */
export const lives = (now: RawBuilder<Milliseconds>, node: NodeId | RawBuilder<unknown>): RawBuilder<SqlBool> =>
  sql`exists (select 1 from nodes where nodes.id = ${node} and nodes.lease_until > ${now})`;

/** The same of the node of a row of {@link PublishersTable}. */
export const publisherLives = (now: RawBuilder<Milliseconds>): RawBuilder<SqlBool> =>
  lives(now, sql.ref('publishers.node_id'));

/** The queries, prepared for one dialect. @param now SQL for the database's clock */
export function nodeQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>) {
  const until = (leaseMs: number) => sql<Milliseconds>`${now} + ${leaseMs}`;
  const isOut = sql<boolean>`lease_until <= ${now}`;
  const ownsSessions = sql<boolean>`exists (select 1 from sessions where sessions.node_id = nodes.id and phase <> 'ended')`;

  return {
    /** Of one that holds it. */
    renewHeld: prepare((args: NodesTable) =>
      db
        .updateTable('nodes')
        .set({ url: args.url, lease_until: until(args.lease_until) })
        .where('id', '=', args.id)
        .where((eb) => eb.not(isOut)),
    ),

    /** Of any, made when it is new. */
    renew: prepare((args: NodesTable) =>
      db
        .insertInto('nodes')
        .values({ id: args.id, url: args.url, lease_until: until(args.lease_until) })
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((eb) => ({
            url: eb.ref('excluded.url'),
            lease_until: eb.ref('excluded.lease_until'),
          })),
        ),
    ),

    leave: prepare((args: Id) =>
      db
        .updateTable('nodes')
        .set({ lease_until: 0 as Milliseconds })
        .where('id', '=', args.id),
    ),

    /** One whose lease is out and that has no session that has not ended. */
    forget: prepare((args: Id) =>
      db
        .deleteFrom('nodes')
        .where('id', '=', args.id)
        .where(isOut)
        .where((eb) => eb.not(ownsSessions)),
    ),

    secret: prepare((args: Pick<SecretsTable, 'name'>) =>
      db.selectFrom('secrets').select('value').where('name', '=', args.name),
    ),

    /** Does nothing when it is there. */
    makeSecret: prepare((row: SecretsTable) =>
      db
        .insertInto('secrets')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doNothing()),
    ),

    lapsed: prepare(() => db.selectFrom('nodes').select('id').where(isOut)),
  };
}

/** The queries on publishers. */
export function publisherQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>) {
  return {
    claim: prepare((row: PublishersTable) =>
      db
        .insertInto('publishers')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .column('stream_id')
            .doUpdateSet((eb) => ({ node_id: eb.ref('excluded.node_id') }))
            .where((eb) =>
              eb.or([eb('publishers.node_id', '=', eb.ref('excluded.node_id')), eb.not(publisherLives(now))]),
            ),
        ),
    ),

    release: prepare((row: PublishersTable) =>
      db.deleteFrom('publishers').where('stream_id', '=', row.stream_id).where('node_id', '=', row.node_id),
    ),

    /** Those of a node that starts, or is gone. */
    releaseAll: prepare((args: Pick<PublishersTable, 'node_id'>) =>
      db.deleteFrom('publishers').where('node_id', '=', args.node_id),
    ),

    /** Those of a node, if its lease is out. */
    releaseLost: prepare((args: Pick<PublishersTable, 'node_id'>) =>
      db
        .deleteFrom('publishers')
        .where('node_id', '=', args.node_id)
        .where((eb) => eb.not(publisherLives(now))),
    ),
  };
}

/**
 * Queries on nodes and their leases. All times are those of the database's clock.
 */
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { NodeId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, NodesTable, SecretsTable } from '#store/database.ts';
import { compilable, prepare } from '#store/prepared-query.ts';

type Id = Pick<NodesTable, 'id'>;

/** The largest number of nodes in a list. */
const MAX_LISTED = 1000;

/** Whether a node is alive: whether it holds its lease. @param node the node's id, or a reference to a column with it */
export const isAlive = (now: RawBuilder<Milliseconds>, node: NodeId | RawBuilder<unknown>): RawBuilder<SqlBool> =>
  sql`exists (select 1 from nodes where nodes.id = ${node} and nodes.lease_until > ${now})`;

/** Identifies the writer in queries that only the owner of a stream or session may make. */
export interface WriterArgs {
  /** The id of the node. */
  readonly writer: NodeId;
  /** The process of the node that writes. */
  readonly incarnation: string;
}

/** Whether the writing process holds the lease of its node. */
export const holdsLease = (now: RawBuilder<Milliseconds>, { writer, incarnation }: WriterArgs): RawBuilder<SqlBool> =>
  sql`exists (select 1 from nodes where nodes.id = ${writer} and nodes.incarnation = ${incarnation} and nodes.lease_until > ${now})`;

/** Prepares the queries for one dialect. @param now SQL for the database's clock */
export function nodeQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>) {
  const until = (leaseMs: number) => sql<Milliseconds>`${now} + ${leaseMs}`;
  const hasExpired = sql<boolean>`lease_until <= ${now}`;
  const ownsSessions = sql<boolean>`exists (select 1 from sessions where sessions.node_id = nodes.id and phase <> 'ended')`;

  return {
    /** Renews the lease of a process that still holds it. */
    renewHeld: prepare((args: NodesTable) =>
      db
        .updateTable('nodes')
        .set({ url: args.url, lease_until: until(args.lease_until) })
        .where('id', '=', args.id)
        .where('incarnation', '=', args.incarnation)
        .where((eb) => eb.not(hasExpired)),
    ),

    /** Gives the lease to a process, whoever had it before. Adds the node when it is new. */
    renew: prepare((args: NodesTable) =>
      db
        .insertInto('nodes')
        .values({ id: args.id, url: args.url, lease_until: until(args.lease_until), incarnation: args.incarnation })
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((eb) => ({
            url: eb.ref('excluded.url'),
            lease_until: eb.ref('excluded.lease_until'),
            incarnation: eb.ref('excluded.incarnation'),
          })),
        ),
    ),

    leave: prepare((args: Id) =>
      db
        .updateTable('nodes')
        .set({ lease_until: 0 as Milliseconds })
        .where('id', '=', args.id),
    ),

    /** Deletes a node whose lease has run out and that has no open session. */
    forget: prepare((args: Id) =>
      db
        .deleteFrom('nodes')
        .where('id', '=', args.id)
        .where(hasExpired)
        .where((eb) => eb.not(ownsSessions)),
    ),

    secret: prepare((args: Pick<SecretsTable, 'name'>) =>
      db.selectFrom('secrets').select('value').where('name', '=', args.name),
    ),

    /** Adds a secret unless it exists. */
    makeSecret: prepare((row: SecretsTable) =>
      db
        .insertInto('secrets')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doNothing()),
    ),

    /** Returns the node when the process holds its lease. */
    heldBy: prepare((args: WriterArgs) =>
      db.selectFrom('nodes').select('id').where('id', '=', args.writer).where(holdsLease(now, args)),
    ),

    /** The time of the database. */
    time: prepare(() => compilable<{ time: Milliseconds }>(db, sql`select cast(${now} as bigint) as time`)),

    /** All nodes with what each owns. Nodes are few, and their open sessions and publishers are read from indexes. */
    list: prepare(() =>
      db
        .selectFrom('nodes')
        .select(['id', 'url'])
        .select(sql<number>`lease_until - ${now}`.as('lease_left'))
        .select(
          sql<number>`(select count(*) from sessions where sessions.node_id = nodes.id and phase <> 'ended')`.as(
            'sessions',
          ),
        )
        .select(
          sql<number>`(select count(*) from publishers where publishers.node_id = nodes.id and connected = 1)`.as(
            'publishers',
          ),
        )
        .orderBy('id')
        .limit(sql.lit(MAX_LISTED)),
    ),

    lapsed: prepare(() => db.selectFrom('nodes').select('id').where(hasExpired)),
  };
}

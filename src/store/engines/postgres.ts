/**
 * The store in a PostgreSQL database that several processes may share.
 *
 * Reads and writes have connections of their own, so that reads never wait for a slow commit. Queries about leases have a connection of
 * their own, so that a process keeps its lease however many other calls wait. One more connection receives what other processes announce.
 * Writes are isolated as `read committed`: each query sees everything committed before it, and a query that changes a row waits for others
 * that are changing it. Races are prevented by unique indexes and by conditions in the changing query itself.
 */
import { sql } from 'kysely';
import type { Milliseconds } from '#lib/units.ts';
import { makeFolder } from '#store/data-folder.ts';
import type { Engine, EngineOptions, Query } from '#store/engine.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { bindable } from './bindable.ts';
import { holdFolder } from './folder-lock.ts';
import { postgresCompiler } from './postgres/dialect.ts';
import { firstRows } from './postgres/first-rows.ts';
import { Lane } from './postgres/lane.ts';
import { Listener } from './postgres/listener.ts';
import { updateSchema } from './postgres/opening.ts';
import { statementOf } from './postgres/statements.ts';
import { targetOf } from './postgres/target.ts';
import { transact } from './postgres/transaction.ts';

/**
 * The number of connections for reads, and for writes. With the one for leases and the one of the listener, a process has at most 18, so
 * five processes fit into PostgreSQL's default of 100.
 */
const CONNECTIONS = 8;

/**
 * Opens the database that `options.databaseUrl` names. `options.dataDir` is locked as well, because it holds files of this process.
 * @throws {StoreOpenError}
 */
export async function openPostgres(options: EngineOptions): Promise<Engine> {
  const { dataDir, databaseUrl, exclusive, clock, logger } = options;
  if (databaseUrl === undefined) throw new StoreOpenError('database_url', '');
  const target = targetOf(databaseUrl);
  await using opened = new AsyncDisposableStack();
  if (exclusive) {
    makeFolder(dataDir);
    opened.use(holdFolder(dataDir));
  }
  const listener = opened.use(new Listener({ target, clock, logger, holdsSchema: exclusive }));
  await updateSchema(target, async () => {
    if (exclusive) await listener.start();
  });
  const lane = (role: string, timeoutMs: number, connections = CONNECTIONS) =>
    new Lane({ ...options, role, target, connections, timeoutMs });
  const [reads, writes] = [lane('read', options.readTimeoutMs), lane('write', options.writeTimeoutMs)];
  const leases = lane('lease', options.writeTimeoutMs, 1);
  const held = opened.move();
  let closed: Promise<void> | undefined;
  const close = async () => {
    await reads.close();
    await writes.close();
    await leases.close();
    await held.disposeAsync();
  };

  const read = async <Row>(query: Query<Row>): Promise<readonly Row[]> => {
    query.parameters.forEach(bindable);
    // PostgreSQL text cannot hold U+0000, so no row matches. The server would reject the query.
    if (query.parameters.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
    const { rows } = await (query.isUrgent ? leases : reads).run((client) => client.query(statementOf(query)));
    return rows as Row[];
  };

  return {
    isShared: true,
    now: sql<Milliseconds>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
    patched: (column, change) => sql`jsonb_strip_nulls(${sql.ref(column)}::jsonb || ${change}::jsonb)::text`,
    skipLocked: sql`for update skip locked`,
    contains: (column, text) => sql`strpos(${sql.ref(column)}, ${text}) > 0`,
    compiler: postgresCompiler(),
    // PostgreSQL cannot tell whether anything was committed without a round trip.
    version: () => undefined,

    read,

    async readFirst<Row>(query: Query<Row>, maxBytes: number) {
      const rows = await read(firstRows(query, maxBytes));
      const last = rows.at(-1);
      return { rows, sizeBytes: last?.bytes_so_far ?? 0, isCut: rows.length < (last?.rows_in_all ?? 0) };
    },

    async write(queries, announcements = []) {
      for (const { parameters } of queries) parameters.forEach(bindable);
      if (queries.length === 0 && announcements.length === 0) return [];
      const calls = queries.some(({ isUrgent }) => isUrgent) ? leases : writes;
      return calls.run((client, committing) => transact(client, queries, announcements, committing));
    },

    listen: (listen) => listener.listen(listen),

    [Symbol.asyncDispose]() {
      closed ??= close();
      return closed;
    },
  };
}

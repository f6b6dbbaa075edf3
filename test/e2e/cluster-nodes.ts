/**
 * Two servers on one PostgreSQL, each of which reaches it through a proxy of its own, and a record of the beats of their leases.
 */
import type { PostgresServer } from '../support/postgres.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

/** With the longest target duration, servers hold requests for half a minute, so that a test sees many that are held at the same time. */
export const LONG_HOLDS = { MILLRACE_SEGMENT_TARGET_DURATION_S: '10' };

/** Settings without rate limits, and with patience for publishers that wait for a frozen server. */
export const PATIENT = {
  MILLRACE_API_RATE_LIMIT: '0',
  MILLRACE_QUOTA_REQUESTS_PER_MINUTE: '0',
  MILLRACE_RTMP_CONNECTIONS_PER_MINUTE: '10000',
  MILLRACE_RTMP_HANDSHAKE_TIMEOUT_S: '600',
  MILLRACE_RTMP_PUBLISH_TIMEOUT_S: '600',
  MILLRACE_RTMP_IDLE_TIMEOUT_S: '600',
};

/** After a pause of this length between two renewals of a lease, which lasts six seconds, other servers may find that it has run out. */
const MISSED_MS = 5000;

/** Records each transaction that renews a lease, with its time by the clock of the machine. */
const RECORD_BEATS = `
  create table beats (transaction xid8 primary key, url text not null, at bigint not null);
  create function record_beat() returns trigger language plpgsql as $$
    begin
      insert into beats values (pg_current_xact_id(), new.url, extract(epoch from clock_timestamp()) * 1000)
        on conflict do nothing;
      return null;
    end $$;
  create trigger record_beat after insert or update on nodes for each row execute function record_beat()`;

/** A server and its way to the database. */
export interface ProxiedNode {
  readonly server: ServerProcess;
  readonly proxy: TcpProxy;
}

/** Two such servers on one database. */
export interface ProxiedNodes extends AsyncDisposable {
  readonly owner: ProxiedNode;
  readonly other: ProxiedNode;
  /** Runs a query on their database as the superuser, without the proxies. */
  readonly query: (sql: string) => ReturnType<PostgresServer['query']>;
}

/** Starts both on a database of their own. @param clockAheadMs by how many milliseconds the clock of the other is ahead */
export async function startProxiedNodes(postgres: PostgresServer, clockAheadMs = 0): Promise<ProxiedNodes> {
  await using parts = new AsyncDisposableStack();
  const databaseUrl = await postgres.newDatabase();
  const start = async (aheadMs: number, apiKey?: string): Promise<ProxiedNode> => {
    const proxy = await startTcpProxy(postgres.port);
    parts.defer(() => proxy.close());
    const url = Object.assign(new URL(databaseUrl), { port: String(proxy.port) }).href;
    const server = await startServerProcess({
      settings: { ...PATIENT, MILLRACE_DATABASE_URL: url },
      clockAheadMs: aheadMs,
      ...(apiKey !== undefined && { apiKey }),
    });
    return { server: parts.use(server), proxy };
  };
  const owner = await start(0);
  const other = await start(clockAheadMs, owner.server.apiKey);
  await postgres.query(RECORD_BEATS, databaseUrl);
  const running = parts.move();
  return {
    owner,
    other,
    query: (sql) => postgres.query(sql, databaseUrl),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** How often a server renewed its lease between two times, in milliseconds by the clock of the machine. */
export async function beatsBetween(
  { query }: ProxiedNodes,
  { server }: ProxiedNode,
  [from, to]: readonly [number, number],
): Promise<number> {
  return (await query(`select 1 from beats where url = '${server.url}' and at > ${from} and at <= ${to}`)).length;
}

/**
 * Whether a server did not renew its lease, between two times by the clock of the machine, for so long that others may have taken it for
 * dead: the machine stood still.
 */
export async function stoodStill(
  { query }: ProxiedNodes,
  { server }: ProxiedNode,
  [from, to]: readonly [number, number],
): Promise<boolean> {
  const beats = await query(
    `select at::float8 from beats where url = '${server.url}' and at > ${from} and at <= ${to} order by at`,
  );
  const times = [from, ...beats.map(({ at }) => Number(at)), to];
  return times.some((time, index) => index > 0 && time - times[index - 1]! > MISSED_MS);
}

/** Interrupts the connection on which a server receives announcements, without closing it at either side. */
export async function cutOffAnnouncements({ proxy }: ProxiedNode): Promise<void> {
  await waitFor(() => proxy.blackHole(/listen millrace/) === 1, { what: 'the connection for announcements' });
}

/**
 * Makes a server listen to the wrong channel until disposed. Its connection for announcements stays open and answers queries, but no
 * announcement is ever delivered on it.
 */
export async function deafen({ query }: ProxiedNodes, { proxy }: ProxiedNode): Promise<AsyncDisposable> {
  const listening = 'from pg_stat_activity where datname = current_database() and';
  // The last query of a connection for announcements: to listen, or to check that the connection is alive.
  const listenAnew = () =>
    query(`select pg_terminate_backend(pid) ${listening} (query like 'listen%' or query = 'select 1')`);
  proxy.rewrite((bytes) => bytes.replace('listen millrace', 'listen millracf'));
  await listenAnew();
  const isDeaf = async () => (await query(`select 1 ${listening} query = 'listen millracf'`)).length > 0;
  await waitFor(isDeaf, { what: 'the server to listen in vain' });
  return {
    async [Symbol.asyncDispose]() {
      proxy.rewrite((bytes) => bytes);
      await listenAnew();
    },
  };
}

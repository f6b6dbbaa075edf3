/**
 * Two servers on one PostgreSQL, each of which reaches it through a proxy of its own.
 */
import type { PostgresServer } from '../support/postgres.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** A server and its way to the database. */
export interface ProxiedNode {
  readonly server: ServerProcess;
  readonly proxy: TcpProxy;
}

/** Two of them. */
export interface ProxiedNodes extends AsyncDisposable {
  readonly owner: ProxiedNode;
  readonly other: ProxiedNode;
}

/** Starts both on a database of their own. @param clockAheadMs by how much the clock of the other is ahead */
export async function startProxiedNodes(postgres: PostgresServer, clockAheadMs = 0): Promise<ProxiedNodes> {
  await using parts = new AsyncDisposableStack();
  const databaseUrl = await postgres.newDatabase();
  const start = async (aheadMs: number, apiKey?: string): Promise<ProxiedNode> => {
    const proxy = await startTcpProxy(postgres.port);
    parts.defer(() => proxy.close());
    const settings = { MILLRACE_DATABASE_URL: Object.assign(new URL(databaseUrl), { port: String(proxy.port) }).href };
    const server = await startServerProcess({
      settings,
      clockAheadMs: aheadMs,
      ...(apiKey !== undefined && { apiKey }),
    });
    return { server: parts.use(server), proxy };
  };
  const owner = await start(0);
  const other = await start(clockAheadMs, owner.server.apiKey);
  const running = parts.move();
  return { owner, other, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/**
 * Sets up every new connection before it is used.
 */
import type { ClientBase } from 'pg';
import { Away } from './failure.ts';

/**
 * Sets the parameters by a query, because poolers refuse start parameters. `synchronous_commit` is never off, so that no setting of the
 * server can lose acknowledged commits. A pooler may hand out the process of an abandoned connection again, and a new primary may have
 * other processes with the same ids, so neither the asking process nor those of other users and databases are counted as busy.
 */
const SETUP = `select
  set_config('statement_timeout', $1, false),
  set_config('idle_in_transaction_session_timeout', $1, false),
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
    else current_setting('synchronous_commit') end, false),
  pg_is_in_recovery() as "isStandby",
  pg_backend_pid() as backend,
  array(select pid from pg_stat_activity where pid = any ($2::int[]) and pid <> pg_backend_pid()
    and usename = current_user and datname = current_database() and state <> 'idle') as busy`;

/** The facts about a new connection. */
export interface NewConnection {
  /** The id of the server's process for this connection. */
  readonly backend: number;
  /** Those of `abandoned` that are still at work. */
  readonly busy: readonly number[];
}

/**
 * Sets up a new connection.
 * @param timeoutMs the time after which the server aborts a query, or a transaction in which no query is sent
 * @param abandoned processes of the server for connections that were closed before their answer
 * @throws {Away} on a standby, because its data may be older than what was committed
 */
export async function setUp(
  client: ClientBase,
  timeoutMs: number,
  abandoned: readonly number[] = [],
): Promise<NewConnection> {
  const { rows } = await client.query<NewConnection & { isStandby: 0 | 1 }>(SETUP, [String(timeoutMs), abandoned]);
  const { isStandby, backend, busy } = rows[0]!;
  if (isStandby === 1) throw new Away('the server is a standby');
  return { backend, busy };
}

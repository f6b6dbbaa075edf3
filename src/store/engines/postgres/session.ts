/**
 * What every connection is told before it is used.
 */
import type { ClientBase } from 'pg';
import { Away } from './failure.ts';

/** Settings rather than parameters of the start, which poolers refuse. Losing acknowledged commits is never a setting. */
const SETUP = `select
  set_config('statement_timeout', $1, false),
  set_config('idle_in_transaction_session_timeout', $1, false),
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
    else current_setting('synchronous_commit') end, false),
  pg_is_in_recovery() as "isStandby"`;

/**
 * Sets up a new connection.
 * @param timeoutMs after which the server gives up a query, or a transaction that we have forgotten
 * @throws {Away} on a standby: what it shows is older than what was committed
 */
export async function setUp(client: ClientBase, timeoutMs: number): Promise<void> {
  const { rows } = await client.query<{ isStandby: 0 | 1 }>(SETUP, [String(timeoutMs)]);
  if (rows[0]?.isStandby === 1) throw new Away('the server is a standby');
}

/**
 * Who may change the tables: advisory locks of the database, which the server drops when their connection ends.
 */
import type { ClientBase } from 'pg';

/** The first half of both keys: `mill` in ASCII, so that other programs' locks are others. */
const SPACE = 0x6d_69_6c_6c;
/** Held by the process that opens the database, one after the other. */
const OPENING = 1;
/** Shared by every process that serves; whoever changes the tables needs it alone. */
const SERVING = 2;

/** Waits until no other process is opening the database. Ends with the connection. */
export async function enterOpening(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_lock($1, $2)', [SPACE, OPENING]);
}

/** Keeps others from changing the tables until the connection ends; waits while one does. */
export async function shareSchema(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_lock_shared($1, $2)', [SPACE, SERVING]);
}

/** Says whether no process serves; if so none begins to until the connection ends. */
export async function ownSchema(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ mine: 0 | 1 }>('select pg_try_advisory_lock($1, $2) as mine', [SPACE, SERVING]);
  return rows[0]?.mine === 1;
}

/** The end of {@link ownSchema}. */
export async function disownSchema(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_unlock($1, $2)', [SPACE, SERVING]);
}

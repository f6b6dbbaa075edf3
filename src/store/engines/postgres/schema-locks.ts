/**
 * Decides which process may change the tables, by advisory locks of the database. The server drops them when their connection ends.
 */
import type { ClientBase } from 'pg';

/** The first half of both lock keys: `mill` in ASCII, so that they differ from those of other programs. */
const SPACE = 0x6d_69_6c_6c;
/** Held by the process that is opening the database, one at a time. */
const OPENING = 1;
/** Shared by every process that serves. A process that changes the tables needs it exclusively. */
const SERVING = 2;

/** Waits until no other process is opening the database. The lock ends with the connection. */
export async function enterOpening(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_lock($1, $2)', [SPACE, OPENING]);
}

/** Keeps others from changing the tables until the connection ends. Waits while one does. */
export async function shareSchema(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_lock_shared($1, $2)', [SPACE, SERVING]);
}

/** Takes the schema exclusively until the connection ends, if no process serves. Returns whether it did. */
export async function ownSchema(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ mine: 0 | 1 }>('select pg_try_advisory_lock($1, $2) as mine', [SPACE, SERVING]);
  return rows[0]?.mine === 1;
}

/** Releases the schema that {@link ownSchema} took. */
export async function disownSchema(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_unlock($1, $2)', [SPACE, SERVING]);
}

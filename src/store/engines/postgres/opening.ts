/**
 * Checks a database before it is used, and brings its schema up to date.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { applyMigrations, schemaState } from '#store/migrations.ts';
import { StoreOpenError, type StoreOpenErrorCode } from '#store/open-error.ts';
import { kyselyOn } from './dialect.ts';
import { CODE, reasonOf } from './failure.ts';
import { disownSchema, enterOpening, ownSchema } from './schema-locks.ts';
import type { Target } from './target.ts';

/** Milliseconds that one attempt to connect may take. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The number of attempts when a server is starting or has no connection left, and the pause between them. */
const MAX_ATTEMPTS = 20;
const RETRY_MS = 500;

/** Milliseconds that another process may take to update the schema. Creating an index on a large table takes minutes. */
const OPENING_TIMEOUT_MS = 300_000;

/**
 * Disables the time limits that the role or the database may have, because a migration may take minutes. The regular connections set limits
 * of their own. `transaction_timeout` exists since PostgreSQL 17.
 */
const NO_LIMITS = `select set_config(name, '0', false) from pg_settings where name in
  ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`;

/** The oldest version that was still maintained when this was written. */
const MIN_VERSION = 140_000;

/**
 * Connects, checks that the database can be used, and runs `work` on the connection, which is closed afterwards.
 * @throws {StoreOpenError}
 */
export async function onOpeningConnection<Result>(
  target: Target,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  try {
    const client = await connected(target);
    try {
      await checkServer(client, target);
      return await work(client);
    } finally {
      await client.end();
    }
  } catch (error) {
    throw openError(error, target);
  }
}

/**
 * Brings the schema up to date, unless another process serves from it. When several processes do this at the same time, they take turns,
 * and only the first finds something to do.
 * @param ready completed before the next process may continue
 * @throws {StoreOpenError}
 */
export function updateSchema(target: Target, ready: () => Promise<void>): Promise<void> {
  return onOpeningConnection(target, async (client) => {
    await client.query(`set lock_timeout = ${OPENING_TIMEOUT_MS}`);
    await enterOpening(client);
    await client.query('set lock_timeout = 0');
    const kysely = kyselyOn(client);
    const found = await schemaState(kysely);
    if (found.state === 'newer') throw new StoreOpenError('newer_schema', target.place, found.migration);
    if (found.state === 'older') {
      if (!(await ownSchema(client))) throw new StoreOpenError('outdated_schema', target.place);
      await applyMigrations(kysely);
      await disownSchema(client);
    }
    await ready();
  });
}

async function connected(target: Target): Promise<Client> {
  for (let attempt = 1; ; attempt += 1) {
    const client = new Client({ ...target.options(), connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
    // Whatever uses the connection fails with the error.
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query(NO_LIMITS);
      return client;
    } catch (error) {
      client.connection.stream.destroy();
      const isTemporary = hasCode(error, CODE.cannotConnectNow) || hasCode(error, CODE.tooManyConnections);
      if (!isTemporary || attempt === MAX_ATTEMPTS) throw error;
      await sleep(RETRY_MS);
    }
  }
}

async function checkServer(client: Client, { place }: Target): Promise<void> {
  const { rows } = await client.query<{ number: number; name: string; standby: 0 | 1 }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as name,
      pg_is_in_recovery() as standby`,
  );
  const { number, name, standby } = rows[0]!;
  if (number < MIN_VERSION) throw new StoreOpenError('old_server', place, name);
  if (standby === 1) throw new StoreOpenError('standby', place);
}

const CODES: Readonly<Record<string, StoreOpenErrorCode>> = {
  [CODE.invalidDatabase]: 'no_database',
  [CODE.insufficientPrivilege]: 'no_rights',
  [CODE.readOnlyTransaction]: 'standby',
  [CODE.lockNotAvailable]: 'busy_schema',
};

/** Translates an error for the operator. The error itself is never set as the cause, because it may contain the user or the URL. */
function openError(error: unknown, { place }: Target): unknown {
  if (error instanceof StoreOpenError || !(error instanceof Error)) return error;
  const detail = reasonOf(error);
  if (error instanceof DatabaseError && error.code !== undefined) {
    const code = error.code.startsWith('28') ? 'login_refused' : (CODES[error.code] ?? 'unusable');
    return new StoreOpenError(code, place, detail);
  }
  // The server wants a password and none was given, or the server did not prove that it knows the password.
  if (/^SASL|password/i.test(detail)) return new StoreOpenError('login_refused', place);
  if (/SSL|TLS|certificate|altname/i.test(`${'code' in error ? error.code : ''} ${detail}`)) {
    return new StoreOpenError('no_encryption', place, detail);
  }
  return new StoreOpenError('no_connection', place, detail);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof DatabaseError && error.code === code;
}

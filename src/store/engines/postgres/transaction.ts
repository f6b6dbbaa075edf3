/**
 * Runs the queries of a write in one transaction, in as few round trips as possible.
 */
import type { ClientBase, QueryResult } from 'pg';
import { type Query, Unchanged, type WriteResult } from '#store/engine.ts';
import { statementOf } from './statements.ts';

/** The channel that every process listens on. Channels of other databases on the server are separate. */
export const CHANNEL = 'millrace';

/** Sends notifications in the order of the list. PostgreSQL delivers equal texts of a transaction only once. */
const NOTIFY = 'select pg_notify($1, payload) from json_array_elements_text($2::json) as payload';

/**
 * Runs queries as one transaction on a connection that sends queries without waiting for answers.
 * @param committing called before the commit is sent; from then on only the server's answer shows whether it happened
 * @throws {Unchanged}
 * @throws an error of `pg`
 */
export async function transact(
  client: ClientBase,
  queries: readonly Query[],
  announcements: readonly string[],
  committing: () => void,
): Promise<readonly WriteResult[]> {
  const notify: Query = { sql: NOTIFY, parameters: [CHANNEL, JSON.stringify(announcements)] };
  const all = announcements.length === 0 ? queries : [...queries, notify];
  // A single query is a transaction by itself.
  if (all.length === 1 && all[0]!.mustChange === undefined) {
    committing();
    const results = [changesOf(await client.query(statementOf(all[0]!)))];
    return results.slice(0, queries.length);
  }

  // The begin is awaited alone. If it were refused, queries sent right after it would run one by one, outside a transaction.
  await client.query('begin');
  const mayCommit = !queries.some(({ mustChange }) => mustChange !== undefined);
  if (mayCommit) committing();
  const sent = all.map((query) => client.query(statementOf(query)));
  // After a query that failed, PostgreSQL refuses the others and turns this commit into a rollback.
  if (mayCommit) sent.push(client.query('commit'));
  const results = await answersOf(sent).catch(async (error: unknown) => {
    if (!mayCommit) await client.query('rollback');
    throw error;
  });
  const changes = queries.map((_, index) => changesOf(results[index]!));
  if (mayCommit) return changes;

  const wrong = queries.find(
    ({ mustChange }, index) => mustChange !== undefined && mustChange !== changes[index]!.changes,
  );
  if (wrong === undefined) committing();
  await client.query(wrong === undefined ? 'commit' : 'rollback');
  if (wrong !== undefined) throw new Unchanged('a query did not change as many rows as it must');
  return changes;
}

/**
 * Waits for all answers, so that the connection is idle afterwards, and rejects with the first error, because later ones only follow from
 * it.
 */
async function answersOf(sent: readonly Promise<QueryResult>[]): Promise<QueryResult[]> {
  const settled = await Promise.allSettled(sent);
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

const changesOf = ({ rowCount }: QueryResult): WriteResult => ({ changes: rowCount ?? 0 });

/**
 * A write: all of its queries or none, in as few round trips as that takes.
 */
import type { ClientBase, QueryResult } from 'pg';
import { type Query, Unchanged, type WriteResult } from '#store/engine.ts';
import { statementOf } from './statements.ts';

/** The channel that everybody listens on; other databases of the server have their own of that name. */
export const CHANNEL = 'millrace';

/** In the order of the list. PostgreSQL tells the same text twice only once. */
const NOTIFY = 'select pg_notify($1, told) from json_array_elements_text($2::json) as told';

/**
 * Runs queries as one transaction on a connection that sends without waiting for answers.
 * @param committing is called before the commit is sent; from then on only the server's answer can say whether it happened
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
  // One query alone is a transaction by itself.
  if (all.length === 1 && all[0]!.mustChange === undefined) {
    committing();
    const results = [changesOf(await client.query(statementOf(all[0]!)))];
    return results.slice(0, queries.length);
  }

  // Alone: were it refused, what follows in the same breath would be done one by one.
  await client.query('begin');
  const mayCommit = !queries.some(({ mustChange }) => mustChange !== undefined);
  if (mayCommit) committing();
  const sent = all.map((query) => client.query(statementOf(query)));
  // After a query that failed PostgreSQL refuses the others and makes a rollback of this.
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

/** Waits for all, so that the connection is at rest, and fails as the first that failed: the others only followed. */
async function answersOf(sent: readonly Promise<QueryResult>[]): Promise<QueryResult[]> {
  const settled = await Promise.allSettled(sent);
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

const changesOf = ({ rowCount }: QueryResult): WriteResult => ({ changes: rowCount ?? 0 });

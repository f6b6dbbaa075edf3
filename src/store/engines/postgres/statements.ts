/**
 * Gives names to queries, because PostgreSQL parses and plans a named query only once for each connection.
 */
import { createHash } from 'node:crypto';
import type { QueryConfig } from 'pg';
import type { Query } from '#store/engine.ts';

/** The largest number of queries that get a name. The store uses a few dozen constantly. Lists have too many forms to keep. */
const MAX_NAMED = 256;

const names = new Map<string, string>();

/** Makes the query in the form that `pg` takes. */
export function statementOf({ sql, parameters }: Query): QueryConfig {
  const statement = { text: sql, values: parameters as string[] };
  const name = nameOf(sql);
  return name === undefined ? statement : { ...statement, name };
}

/** Makes the name from the text, so that two processes behind one pooler never use one name for different queries. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MAX_NAMED) return known;
  const name = `m${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
  names.set(sql, name);
  return name;
}

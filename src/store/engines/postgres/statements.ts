/**
 * Queries by name: PostgreSQL parses and plans one that has a name only once for each connection.
 */
import { createHash } from 'node:crypto';
import type { QueryConfig } from 'pg';
import type { Query } from '#store/engine.ts';

/** Queries that get a name. The store asks a few dozen all the time; lists have any number of forms, which need not be kept. */
const MAX_NAMED = 256;

const names = new Map<string, string>();

/** The query as `pg` takes it. */
export function statementOf({ sql, parameters }: Query): QueryConfig {
  const statement = { text: sql, values: parameters as string[] };
  const name = nameOf(sql);
  return name === undefined ? statement : { ...statement, name };
}

/** Made of the text, so that two processes behind one pooler never mean different queries by a name. */
function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MAX_NAMED) return known;
  const name = `m${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
  names.set(sql, name);
  return name;
}

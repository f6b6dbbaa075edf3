/**
 * What to do instead where the store is in PostgreSQL, whose own tools fit its version and are not ours to run.
 */
import type { Secret } from '#domain/secret.ts';
import { EXIT, Exit } from './exit-code.ts';

/** The exit that says which command to run; the user and the password are left to whoever runs it. */
export async function postgresTool(databaseUrl: Secret, what: 'backup' | 'restore', file: string): Promise<Exit> {
  // Only here: the other commands need no client of PostgreSQL.
  const { targetOf } = await import('#store/engines/postgres/target.ts');
  const { place } = targetOf(databaseUrl);
  // In quotes that every shell understands.
  const quoted = `'${file.replaceAll("'", `'\\''`)}'`;
  const command =
    what === 'backup'
      ? `pg_dump --format=custom --file=${quoted} --dbname='postgres://${place}'`
      : `pg_restore --clean --if-exists --single-transaction --dbname='postgres://${place}' ${quoted}`;
  return new Exit(EXIT.failed, [
    `The store is in PostgreSQL, at ${place}.${what === 'restore' ? ' Stop every server on it.' : ''} With PGUSER and PGPASSWORD set, run:`,
    `  ${command}`,
  ]);
}

/**
 * Backup and restore of a store in PostgreSQL, which the operator runs with PostgreSQL's own tools, because those fit its version.
 */
import type { Secret } from '#domain/secret.ts';
import { EXIT, Exit } from './exit-code.ts';

/** Makes the exit that shows the command to run. The operator supplies the user and the password. */
export async function postgresTool(databaseUrl: Secret, what: 'backup' | 'restore', file: string): Promise<Exit> {
  // Imported only here, because the other commands need no PostgreSQL client.
  const { targetOf } = await import('#store/engines/postgres/target.ts');
  const { place } = targetOf(databaseUrl);
  // Quoted for any POSIX shell.
  const quoted = `'${file.replaceAll("'", `'\\''`)}'`;
  const command =
    what === 'backup'
      ? `pg_dump --format=custom --file=${quoted} --dbname='postgres://${place}'`
      : `pg_restore --clean --if-exists --single-transaction --dbname='postgres://${place}' ${quoted}`;
  return new Exit(EXIT.failed, [
    `The store is in PostgreSQL, at ${place}.${what === 'restore' ? ' Stop every server that uses it.' : ''} With PGUSER and PGPASSWORD set, run:`,
    `  ${command}`,
  ]);
}

/**
 * Backup and restore of a store in PostgreSQL, which the operator runs with PostgreSQL's own tools, because those fit its version.
 */
import type { Secret } from '#domain/secret.ts';
import { SKIPPED_EVENT_NUMBERS } from '#store/event-numbers.ts';
import { EXIT, Exit } from './exit-code.ts';

/** The schema that keeps the tables which a restore has replaced. */
const REPLACED = 'replaced';

/**
 * SQL that moves every table to another schema, in one transaction, so that a restore finds an empty database. `pg_restore --clean` would
 * leave the tables that a later version has added, and the migrations that create these would fail. The SQL needs no other right than that
 * of the owner of the database.
 */
const SET_ASIDE = `create schema ${REPLACED}; do $$ declare name text; begin for name in select tablename from pg_tables where schemaname = current_schema() loop execute format($sql$alter table %I set schema ${REPLACED}$sql$, name); end loop; end $$`;

/** SQL that skips the numbers which events may have got since the backup was made, as `millrace restore` does for SQLite. */
const SKIP_NUMBERS = `update event_sequence set last = last + ${SKIPPED_EVENT_NUMBERS}`;

/** Makes the exit that shows the commands to run. The operator supplies the user and the password. */
export async function postgresTool(databaseUrl: Secret, what: 'backup' | 'restore', file: string): Promise<Exit> {
  // Imported only here, because the other commands need no PostgreSQL client.
  const { targetOf } = await import('#store/engines/postgres/target.ts');
  const { place, toolUrl } = targetOf(databaseUrl);
  const database = `--dbname=${quoted(toolUrl)}`;
  const commands =
    what === 'backup'
      ? [`pg_dump --format=custom --exclude-schema=${REPLACED} --file=${quoted(file)} ${database}`]
      : [
          `psql ${database} --command=${quoted(SET_ASIDE)} &&`,
          `pg_restore --single-transaction ${database} ${quoted(file)} &&`,
          `psql ${database} --command=${quoted(SKIP_NUMBERS)}`,
        ];
  return new Exit(EXIT.failed, [
    `The store is in PostgreSQL, at ${place}.${what === 'restore' ? ' Stop every server that uses it.' : ''} With PGUSER and PGPASSWORD set, run:`,
    ...commands.map((command) => `  ${command}`),
    ...(what === 'restore'
      ? [`The replaced tables are kept in the schema "${REPLACED}"; delete it when the restored data is right.`]
      : []),
  ]);
}

/** Quotes an argument for any POSIX shell. */
const quoted = (argument: string) => `'${argument.replaceAll("'", `'\\''`)}'`;

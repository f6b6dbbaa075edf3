/**
 * Backup and restore of a store in PostgreSQL, which the operator runs with PostgreSQL's own tools, because those fit its version.
 */
import type { Secret } from '#domain/secret.ts';
import { SKIPPED_EVENT_NUMBERS } from '#store/event-numbers.ts';
import { EXIT, Exit } from './exit-code.ts';

/** The schema that keeps the tables which a restore has replaced. */
const REPLACED = 'replaced';

/**
 * SQL that moves every table to another schema, so that a restore finds an empty database. `pg_restore --clean` would
 * leave the tables that a later version has added, and the migrations that create these would fail. The SQL needs no other right than that
 * of the owner of the database.
 */
const SET_ASIDE = `create schema ${REPLACED}; do $$ declare name text; begin for name in select tablename from pg_tables where schemaname = current_schema() loop execute format($sql$alter table %I set schema ${REPLACED}$sql$, name); end loop; end $$`;

/**
 * SQL that skips the numbers which events may have got since the backup was made, as `millrace restore` does for SQLite. The SQL of
 * `pg_restore` leaves the search path empty.
 */
const SKIP_NUMBERS = `reset search_path; update event_sequence set last = last + ${SKIPPED_EVENT_NUMBERS}`;

/** Makes the exit that shows the commands to run. The operator supplies the user and the password. */
export async function postgresTool(databaseUrl: Secret, what: 'backup' | 'restore', file: string): Promise<Exit> {
  // Imported only here, because the other commands need no PostgreSQL client.
  const { targetOf } = await import('#store/engines/postgres/target.ts');
  const { place, toolUrl } = targetOf(databaseUrl);
  const database = `--dbname=${quoted(toolUrl)}`;
  const commands =
    what === 'backup'
      ? [`pg_dump --format=custom --exclude-schema=${REPLACED} --file=${quoted(file)} ${database}`]
      : restoreCommands(database, file);
  return new Exit(EXIT.failed, [
    `The store is in PostgreSQL, at ${place}.${what === 'restore' ? ' Stop every server that uses it.' : ''} With PGUSER and PGPASSWORD set, run:`,
    ...commands.map((command) => `  ${command}`),
    ...(what === 'restore'
      ? [
          `If one of them fails, the database is unchanged. The replaced tables are kept in the schema "${REPLACED}". Delete it once the restored data is right.`,
        ]
      : []),
  ]);
}

/**
 * The commands of a restore. `pg_restore` first writes all of the backup as SQL into a file, which shows that it can be read. Then one
 * transaction moves the present tables away and restores the backup, so that they stay in place when anything fails.
 */
function restoreCommands(database: string, file: string): readonly string[] {
  // The commands overwrite and delete this file, so the operator must not have one with the same name.
  const sqlFile = quoted(`${file}.millrace-restore.sql`);
  const steps = `--command=${quoted(SET_ASIDE)} --file=${sqlFile} --command=${quoted(SKIP_NUMBERS)}`;
  return [
    // Only the operator may read the file, because it contains stream keys.
    `(umask 077 && pg_restore --file=${sqlFile} ${quoted(file)}) &&`,
    // Without ON_ERROR_STOP, psql would go on after an error.
    `psql ${database} --no-psqlrc --quiet --output=/dev/null --single-transaction --set=ON_ERROR_STOP=1 ${steps} &&`,
    `rm ${sqlFile}`,
  ];
}

/** Quotes an argument for any POSIX shell. */
const quoted = (argument: string) => `'${argument.replaceAll("'", `'\\''`)}'`;

/**
 * `millrace restore`: replaces the database with a copy of a backup that `millrace backup` made.
 */
import { configFromEnvironment } from '#config.ts';
import { systemClock } from '#lib/clock.ts';
import { restoreSqlite } from '#store/engines/sqlite/backup.ts';
import { readSimpleArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { postgresTool } from './postgres-tool.ts';

/** The subcommand. */
export const restore: Command = {
  name: 'restore',
  summary: 'Replace the database with a backup',
  help: () => `Usage: millrace restore FILE

Checks FILE, which millrace backup has written, and replaces the database with a copy of it. The old database is kept in the same folder
under another name. Where there is no database yet, the command creates one. Stop the server first: the command is refused while one is
running on the data folder.

This is for SQLite. For a store in PostgreSQL the command prints how to run pg_restore instead.`,
  run: async (args) => {
    const sentence = 'Name one file to restore.';
    const file = readSimpleArguments(args, { positionals: 1 }, sentence, 'millrace restore').positionals[0]!;
    const { dataDir, databaseUrl } = configFromEnvironment().store;
    if (databaseUrl !== undefined) throw await postgresTool(databaseUrl, 'restore', file);
    const { path, replaced } = await restoreSqlite(dataDir, file, systemClock.now());
    console.log(`Restored ${file}. The database is ${path}.`);
    if (replaced !== undefined) console.log(`The old database is now ${replaced}.`);
  },
};

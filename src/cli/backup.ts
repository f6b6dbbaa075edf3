/**
 * `millrace backup`: copies the database into a file, while the server runs.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { configFromEnvironment } from '#config.ts';
import { backupSqlite } from '#store/engines/sqlite/backup.ts';
import { readSimpleArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { EXIT, Exit } from './exit-code.ts';
import { postgresTool } from './postgres-tool.ts';

/** The subcommand. */
export const backup: Command = {
  name: 'backup',
  words: ['--force'],
  summary: 'Copy the database into a file, while the server runs',
  help: () => `Usage: millrace backup FILE [--force]

Writes a copy of the database to FILE. Only you can read the file, because it contains stream keys. The server may be running.
  --force   replace FILE if it exists

The copy does not contain the media of recordings: copy the folder of recordings after the database. Files of ended recordings never change.

This is for SQLite. For a store in PostgreSQL the command prints how to run pg_dump instead.`,
  run: async (args) => {
    const { flags, positionals } = readSimpleArguments(
      args,
      { flags: ['force'], positionals: 1 },
      'Name one file to write to.',
      'millrace backup',
    );
    const file = positionals[0]!;
    const { store, recording } = configFromEnvironment();
    const { dataDir, databaseUrl } = store;
    if (databaseUrl !== undefined) throw await postgresTool(databaseUrl, 'backup', file);
    if (!flags.has('force') && existsSync(file)) {
      throw new Exit(EXIT.failed, [`${file} already exists; name another file, or replace it with --force.`]);
    }
    const { sizeBytes } = await backupSqlite(dataDir, file);
    console.log(`Wrote ${file} (${sizeBytes} bytes).`);
    const recordings = recording.dir ?? join(dataDir, 'recordings');
    if (existsSync(recordings))
      console.log(`It does not contain the media of recordings; copy the folder ${recordings} as well.`);
  },
};

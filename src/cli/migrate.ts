/**
 * `millrace migrate`: brings the database's tables up to date, as the server does when it starts.
 */
import { configFromEnvironment } from '#config.ts';
import { engineNamed, INSPECTIONS } from '#store/engines.ts';
import { MIGRATIONS } from '#store/migrations.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { readSimpleArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { type ExistingStore, existingStore } from './existing-store.ts';

/** The subcommand. */
export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the database up to date',
  words: ['--status'],
  help: () => `Usage:
  millrace migrate            run the pending migrations, and list them
  millrace migrate --status   list the migrations that are done and pending; change nothing

The server does the same when it starts. The command is refused while a server of an older version is running on the database: stop it first.
MILLRACE_DATA_DIR and MILLRACE_DATABASE_URL name the database, as for the server.`,
  run: async (args) => {
    const sentence = 'The only argument is --status.';
    const { flags } = readSimpleArguments(args, { flags: ['status'] }, sentence, 'millrace migrate');
    const { dataDir, databaseUrl, place, migrations: done } = await storeToMigrate();
    const pending = Object.keys(MIGRATIONS).filter((name) => !done.includes(name));
    if (flags.has('status')) {
      const unknown = done.filter((name) => !(name in MIGRATIONS));
      console.log(place);
      for (const name of done.filter((each) => each in MIGRATIONS)) console.log(`done     ${name}`);
      for (const name of pending) console.log(`pending  ${name}`);
      for (const name of unknown) console.log(`unknown  ${name} (of a newer Millrace)`);
      return;
    }
    await using _store = await openStore({ dataDir, databaseUrl, exclusive: false, logger: silentLogger });
    if (pending.length === 0) console.log(`${place} is up to date.`);
    for (const name of pending) console.log(`done     ${name}`);
  },
};

/** The store to be migrated. With PostgreSQL it may also be an empty database that an operator has created for it. */
async function storeToMigrate(): Promise<ExistingStore> {
  const { dataDir, databaseUrl } = configFromEnvironment().store;
  if (databaseUrl === undefined) return existingStore();
  return { dataDir, databaseUrl, ...(await INSPECTIONS[engineNamed(databaseUrl)]({ dataDir, databaseUrl })) };
}

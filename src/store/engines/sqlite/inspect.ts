/**
 * Inspects the database file without changing it.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { InspectEngine } from '#store/engine.ts';
import { migrationsDone } from '#store/migrations.ts';
import { kyselyOn } from './dialect.ts';
import { databasePath } from './folder.ts';
import { sqliteOpenError } from './open-failure.ts';

/** Gives the location of the database and its applied migrations. It may be called beside a running server. */
export const inspectSqlite: InspectEngine = async ({ dataDir }) => {
  const place = databasePath(dataDir);
  if (!existsSync(place)) return { place, migrations: [] };
  try {
    using db = new DatabaseSync(place);
    return { place, migrations: await migrationsDone(kyselyOn(db)) };
  } catch (error) {
    throw sqliteOpenError(error, place);
  }
};

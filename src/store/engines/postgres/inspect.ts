/**
 * Inspects a PostgreSQL database without changing it.
 */
import type { InspectEngine } from '#store/engine.ts';
import { migrationsDone } from '#store/migrations.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { kyselyOn } from './dialect.ts';
import { onOpeningConnection } from './opening.ts';
import { targetOf } from './target.ts';

/** Gives the location of the database and its applied migrations. */
export const inspectPostgres: InspectEngine = async ({ databaseUrl }) => {
  if (databaseUrl === undefined) throw new StoreOpenError('database_url', '');
  const target = targetOf(databaseUrl);
  const migrations = await onOpeningConnection(target, (client) => migrationsDone(kyselyOn(client)));
  return { place: target.place, migrations };
};

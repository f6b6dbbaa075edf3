/**
 * The store that a command works on, which must exist already. Only the server creates one, so that a command started in the wrong folder
 * cannot silently create a second, empty store.
 */
import { type Config, configFromEnvironment } from '#config.ts';
import { engineNamed, INSPECTIONS } from '#store/engines.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';

/** Where a store is, and which migrations it has had. */
export interface ExistingStore extends Pick<Config['store'], 'dataDir' | 'databaseUrl'> {
  /** The store's place as messages name it: a path, or host, port and database. */
  readonly place: string;
  /** The names of the migrations that have been run. */
  readonly migrations: readonly string[];
}

/**
 * Finds the store that the settings name.
 * @throws {StoreOpenError} `no_store` or `empty_database` where a server has never been started
 */
export async function existingStore(): Promise<ExistingStore> {
  const { dataDir, databaseUrl } = configFromEnvironment().store;
  const { place, migrations } = await INSPECTIONS[engineNamed(databaseUrl)]({ dataDir, databaseUrl });
  if (migrations.length === 0)
    throw new StoreOpenError(databaseUrl === undefined ? 'no_store' : 'empty_database', place);
  return { dataDir, databaseUrl, place, migrations };
}

/** Opens the existing store, which a running server may have open, too. @throws {StoreOpenError} */
export async function openExistingStore(): Promise<Store> {
  const { dataDir, databaseUrl } = await existingStore();
  return await openStore({ dataDir, databaseUrl, exclusive: false, logger: silentLogger });
}

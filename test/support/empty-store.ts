/**
 * The database of an empty SQLite store, as the first start of a server leaves it, but without the first key. Each process of the tests makes
 * it once and then copies it, because creating all tables takes four times the CPU time of opening the store.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { databasePath } from '#store/engines/sqlite/folder.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { temporaryFolder } from './temporary-folder.ts';

let made: Promise<Uint8Array> | undefined;

/** Puts an empty store into a data folder that exists and has none. */
export async function putEmptyStore(dataDir: string): Promise<void> {
  made ??= makeEmptyStore();
  await writeFile(databasePath(dataDir), await made, { mode: 0o600, flag: 'wx' });
}

/** The bytes of the database. The store is closed before they are read, so they are all in one file. */
async function makeEmptyStore(): Promise<Uint8Array> {
  await using folder = await temporaryFolder();
  await (await openStore({ dataDir: folder.path, exclusive: true, logger: silentLogger }))[Symbol.asyncDispose]();
  return await readFile(databasePath(folder.path));
}

/**
 * The id of this process among those that share a database: kept in the data folder, so that it is the same after a restart.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NodeId, newNodeId } from '#domain/ids.ts';
import { folderError, isErrno, makeFolder } from './engines/data-folder.ts';
import { StoreOpenError } from './open-error.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Reads the id from `<dataDir>/node-id`, or makes one and keeps it there durably. Only for who holds the folder. Blocks.
 * @throws {StoreOpenError}
 */
export function nodeIdOf(dataDir: string): NodeId {
  makeFolder(dataDir);
  const path = join(dataDir, 'node-id');
  try {
    const known = readFileSync(path, 'utf8').trim();
    if (!UUID.test(known)) throw new StoreOpenError('no_node_id', path);
    return known as NodeId;
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    if (!isErrno(error, 'ENOENT')) throw folderError(error, path, 'read_only');
  }
  const id = newNodeId();
  try {
    keep(dataDir, path, id);
  } catch (error) {
    throw folderError(error, path, 'read_only');
  }
  return id;
}

/** Beside and then renamed: whoever finds the file finds all of it, also after a power cut. */
function keep(dataDir: string, path: string, id: NodeId): void {
  const fresh = `${path}.new`;
  writeFileSync(fresh, `${id}\n`, { mode: 0o600, flush: true });
  renameSync(fresh, path);
  const folder = openSync(dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/**
 * The id of this node among those that share a database. It is kept in the data folder, so that it is the same after a restart.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUuid, type NodeId, newNodeId } from '#domain/ids.ts';
import { folderError, isErrno, makeFolder } from './data-folder.ts';
import { StoreOpenError } from './open-error.ts';

/**
 * Reads the id from `<dataDir>/node-id`, or creates one and keeps it there durably. The caller must hold the folder's lock. Blocks.
 * @throws {StoreOpenError}
 */
export function nodeIdOf(dataDir: string): NodeId {
  makeFolder(dataDir);
  const path = join(dataDir, 'node-id');
  try {
    const known = readFileSync(path, 'utf8').trim();
    if (!isUuid(known)) throw new StoreOpenError('no_node_id', path);
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

/** Writes a new file and renames it, so that the file is always complete, even after a power failure. */
function keep(dataDir: string, path: string, id: NodeId): void {
  const fresh = `${path}.new`;
  writeFileSync(fresh, `${id}\n`, { mode: 0o600, flush: true });
  renameSync(fresh, path);
  const folder = openSync(dataDir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

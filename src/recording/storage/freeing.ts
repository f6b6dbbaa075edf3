/**
 * Deletes the files of recordings, on this machine and in the bucket. The calls for the disk block, so this is for worker threads.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectCall, ObjectStore } from '#objects/objects.ts';
import { readIndex } from '#recording/recording-index.ts';
import { readIndexFiles } from '#recording/recovery.ts';
import { removeFile, removeFolder } from './local-files.ts';
import { readStoredIndex } from './stored-index.ts';
import { type KeptSpan, unneededVolumes } from './unneeded-volumes.ts';

/** The number of objects that are deleted at the same time. */
const DELETES = 8;

/** The places that may have files of recordings. */
export interface Places {
  /** The folder of all recordings. */
  readonly folder: string;
  readonly bucket: ObjectStore | undefined;
}

/**
 * Deletes the files of a recording: all of them, or the volumes that no span needs. Repeating it is harmless, and completes
 * a deletion that was interrupted. Does nothing when the files are on another machine: there is no bucket, and no folder here.
 * @param path the name of the recording's folder
 * @param spans the spans whose media is kept; empty to delete everything
 * @throws {ObjectStoreError} when the bucket fails; an error of the system; {Error} when spans are given and the recording has no index
 */
export async function free(
  { folder, bucket }: Places,
  path: string,
  spans: readonly KeptSpan[],
  call?: ObjectCall,
): Promise<void> {
  const own = join(folder, path);
  if (bucket === undefined && !existsSync(own)) return;
  const unneeded = spans.length === 0 ? undefined : await unneededOf({ folder, bucket }, path, spans, call);
  const isNeeded = (name: string) => unneeded !== undefined && !unneeded.has(name);
  if (unneeded === undefined) removeFolder(own);
  else for (const name of unneeded) removeFile(join(own, name));
  if (bucket === undefined) return;
  const deleting = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const { name } of bucket.list(`${path}/`, call)) {
    if (failures.length > 0) break;
    if (isNeeded(name.slice(path.length + 1))) continue;
    const deletion = bucket
      .delete(name, call)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => deleting.delete(deletion));
    deleting.add(deletion);
    if (deleting.size >= DELETES) await Promise.race(deleting);
  }
  await Promise.all(deleting);
  if (failures.length > 0) throw failures[0];
}

/**
 * Deletes the same files as {@link free}, but only on this machine.
 * @throws an error of the system
 */
export async function freeDisk(folder: string, path: string, spans: readonly KeptSpan[]): Promise<void> {
  // The index is deleted from this machine after all volumes.
  if (spans.length > 0 && readIndexFiles(join(folder, path)).length === 0) return;
  await free({ folder, bucket: undefined }, path, spans);
}

/** The names of the volumes that the spans do not need. @throws {Error} when there is no index. Then nothing is deleted */
async function unneededOf(
  { folder, bucket }: Places,
  path: string,
  spans: readonly KeptSpan[],
  call: ObjectCall | undefined,
): Promise<ReadonlySet<string>> {
  const local = readIndexFiles(join(folder, path));
  const files = local.length > 0 || bucket === undefined ? local : await readStoredIndex(bucket, path, call);
  if (files.length === 0) throw new Error(`The recording ${path} has no index.`);
  return unneededVolumes(readIndex(files), spans);
}

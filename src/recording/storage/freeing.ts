/**
 * Deletes the bytes of recordings, on this machine and in the bucket. It waits for the disk, so it is for worker threads.
 */
import { join } from 'node:path';
import type { ObjectCall, ObjectStore } from '#objects/objects.ts';
import { readIndex } from '#recording/recording-index.ts';
import { readIndexFiles } from '#recording/recovery.ts';
import { fileSizes, removeFile, removeFolder } from './local-files.ts';
import { type KeptSpan, neededVolumes } from './needed-volumes.ts';
import { readStoredIndex } from './stored-index.ts';

/** Objects that are deleted at the same time. */
const DELETES = 8;

/** Where recordings are. */
export interface Places {
  /** The folder of all recordings. */
  readonly folder: string;
  readonly bucket: ObjectStore | undefined;
}

/**
 * Deletes a recording, or what of its media none of the spans needs. Repeating it is harmless, and takes up what was interrupted.
 * @throws {ObjectStoreError} when the bucket fails
 */
export async function free(
  { folder, bucket }: Places,
  path: string,
  spans: readonly KeptSpan[],
  call?: ObjectCall,
): Promise<void> {
  const own = join(folder, path);
  const needed = spans.length === 0 ? undefined : await neededOf({ folder, bucket }, path, spans, call);
  const isNeeded = (name: string) => needed !== undefined && (!name.endsWith('.mp4') || needed.has(name));
  if (needed === undefined) removeFolder(own);
  else for (const name of fileSizes(own).keys()) if (!isNeeded(name)) removeFile(join(own, name));
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

/** @throws {Error} when there is no index, because then it is unknown what is needed, and everything stays */
async function neededOf(
  { folder, bucket }: Places,
  path: string,
  spans: readonly KeptSpan[],
  call: ObjectCall | undefined,
): Promise<ReadonlySet<string>> {
  const local = readIndexFiles(join(folder, path));
  const files = local.length > 0 || bucket === undefined ? local : await readStoredIndex(bucket, path, call);
  if (files.length === 0) throw new Error(`The recording ${path} has no index.`);
  return neededVolumes(readIndex(files), spans);
}

/**
 * Compares the recordings in a folder with the store, and repairs what can be repaired. Recordings that are running, or that a server will
 * continue, are not touched.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Asset } from '#domain/asset.ts';
import { type AssetId, isMediaPath, isUuid, type MediaPath, type NodeId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import { DAY_MS, type Milliseconds } from '#lib/units.ts';
import { extentOf } from '#recording/extent.ts';
import { fragmentBytesIn, indexOfVolumes, replaceIndex } from '#recording/index-rebuild.ts';
import { readIndexOf, recover, writeWholeIndex } from '#recording/recovery.ts';
import { MANIFEST_NAME } from '#recording/writer/protocol.ts';
import type { Store } from '#store/store.ts';
import { adopt } from './adopted-recording.ts';
import { everyRow } from './every-row.ts';

/** Younger folders are never deleted, because the rows of their sessions may still be on their way to the store. */
const ORPHAN_AGE_MS = DAY_MS;
/**
 * Folders that changed later are not added to a stream, because a server may be writing them. A running recording gets new files in each
 * minute, and only the rows of its first minutes can be missing in a store that answers.
 */
const STILL_MS = 5 * 60_000;

/** The result for one recording. */
export interface Finding {
  readonly path: MediaPath;
  readonly asset: Asset | undefined;
  readonly result:
    | 'ok'
    | 'running'
    | 'deleted' // the server removes it, except what clips show
    | 'rebuilt' // its index was missing or incomplete, and was rebuilt
    | 'unreadable' // its index is missing or incomplete, and cannot be rebuilt from the volumes that are there
    | 'missing' // the store has it, but its folder is gone, and it was never stored in a bucket
    | 'orphan' // it is in the folder or bucket, but the store does not have it
    | 'removed' // an orphan that was deleted
    | 'adopted'; // an orphan that was added to the store
}

/** The options of a check. */
export interface CheckOptions {
  readonly store: Store;
  /** The folder of all recordings. */
  readonly folder: string;
  /** Whether volumes are kept in a bucket, so that they may be gone from the folder. */
  readonly hasBucket: boolean;
  /** The node whose folder it is. */
  readonly nodeId: NodeId;
  readonly now: Milliseconds;
  /** What to do with recordings that have no row in the store: nothing, delete those older than a day, or add those that no longer change to a stream. */
  readonly orphans: 'keep' | 'delete' | Stream;
}

/** Checks the recordings in the folder one after another, and then yields those of the store that are missing there. */
export async function* checkRecordings(options: CheckOptions): AsyncGenerator<Finding> {
  const { store, folder, nodeId } = options;
  const paths = existsSync(folder) ? readdirSync(folder).filter(isMediaPath) : [];
  for (const path of paths.toSorted()) yield await check(options, path);
  const present = new Set(paths);
  const newestFirst = { order: 'createdAt', direction: 'desc', filter: { kind: 'recording' } } as const;
  for await (const asset of everyRow((page) => store.assets.list('everyone', { ...page, ...newestFirst }))) {
    const isHere = !store.isShared || asset.nodeId === nodeId;
    if (!isHere || options.hasBucket || asset.isStored || asset.phase !== 'ready' || present.has(asset.path)) continue;
    yield { path: asset.path, asset, result: 'missing' };
  }
}

async function check(options: CheckOptions, path: MediaPath): Promise<Finding> {
  const { store, orphans } = options;
  const folder = join(options.folder, path);
  const sessionId = sessionOf(folder);
  const asset = await assetOf(store, path, sessionId);
  if (asset === undefined) {
    const stillMs = options.now - statSync(folder).mtimeMs;
    if (typeof orphans === 'object' && stillMs > STILL_MS)
      return await adoptFolder(options, folder, path, orphans, sessionId);
    if (orphans !== 'delete' || stillMs <= ORPHAN_AGE_MS) return { path, asset, result: 'orphan' };
    rmSync(folder, { recursive: true });
    return { path, asset, result: 'removed' };
  }
  if (asset.phase === 'recording') return { path, asset, result: 'running' };
  // The index still names all that the recording had, and the server may remove files at this moment.
  if (asset.phase === 'deleting') return { path, asset, result: 'deleted' };
  return { path, asset, result: repair(folder, options.hasBucket || asset.isStored) };
}

/** Rebuilds the index when it lacks media that the volumes have. @param hasOthers whether the bucket may have volumes, too */
function repair(folder: string, hasOthers: boolean): Finding['result'] {
  // Some volumes may be in the bucket only. An index of the volumes in this folder would hide them, and the bucket has the complete index.
  if (hasOthers) return 'ok';
  const known = readIndexOf(folder);
  const knownBytes = known === undefined ? -1 : extentOf(known).sizeBytes;
  const mediaBytes = fragmentBytesIn(folder);
  if (knownBytes >= mediaBytes) return knownBytes === mediaBytes ? 'ok' : 'unreadable';
  const { bytes, index } = indexOfVolumes(folder);
  if (extentOf(index).sizeBytes !== mediaBytes || mediaBytes === 0) return 'unreadable';
  replaceIndex(folder, bytes);
  return 'rebuilt';
}

/** Adds the recording in a folder to a stream. */
async function adoptFolder(
  options: CheckOptions,
  folder: string,
  path: MediaPath,
  stream: Stream,
  sessionId: AssetId | undefined,
): Promise<Finding> {
  const found = repair(folder, options.hasBucket) === 'unreadable' ? undefined : readIndexOf(folder);
  if (found === undefined) return { path, asset: undefined, result: 'unreadable' };
  // The store no longer knew its session when a server started, so no server has ended the recording.
  if (!found.hasEnded) {
    recover(folder);
    writeWholeIndex(folder);
  }
  const extent = extentOf(readIndexOf(folder)!);
  const asset = await adopt(options, stream, { path, sessionId, extent, isStored: false });
  return { path, asset, result: asset === undefined ? 'orphan' : 'adopted' };
}

/** The id of the session that the manifest of a recording names, which its asset has, too. Undefined when it cannot be read. */
export function sessionIn(manifest: Uint8Array): AssetId | undefined {
  try {
    const { sessionId } = JSON.parse(Buffer.from(manifest).toString()) as { sessionId?: unknown };
    return typeof sessionId === 'string' && isUuid(sessionId) ? (sessionId as AssetId) : undefined;
  } catch {
    return undefined;
  }
}

function sessionOf(folder: string): AssetId | undefined {
  const path = join(folder, MANIFEST_NAME);
  return existsSync(path) ? sessionIn(readFileSync(path)) : undefined;
}

/** The asset of a folder. It may be a deleted one whose files the server has not removed yet. */
async function assetOf(store: Store, path: MediaPath, sessionId: AssetId | undefined): Promise<Asset | undefined> {
  const found = await store.assets.byPath(path);
  if (found !== undefined || sessionId === undefined) return found?.asset;
  const [asset] = await store.assets.getMany([sessionId], 'all');
  return asset?.path === path ? asset : undefined;
}

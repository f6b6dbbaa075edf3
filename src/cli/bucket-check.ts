/**
 * Finds recordings in the bucket that have no row in the store.
 */
import { isMediaPath, type MediaPath, type NodeId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { ObjectStore } from '#objects/objects.ts';
import { extentOf } from '#recording/extent.ts';
import { encodeRecord, WHOLE_INDEX } from '#recording/index-file.ts';
import { type RecordingIndex, readIndex } from '#recording/recording-index.ts';
import { readStoredIndex } from '#recording/storage/stored-index.ts';
import { MANIFEST_NAME } from '#recording/writer/protocol.ts';
import type { Store } from '#store/store.ts';
import { adopt } from './adopted-recording.ts';
import { type Finding, sessionIn } from './recordings-check.ts';

/** The options of the check. */
export interface BucketCheckOptions {
  readonly store: Store;
  readonly bucket: ObjectStore;
  /** The node that adopts recordings. */
  readonly nodeId: NodeId;
  readonly now: Milliseconds;
  /** Whether to keep them, delete them or add them to a stream. Unless they are kept, no other store may use this prefix of the bucket. */
  readonly orphans: 'keep' | 'delete' | Stream;
}

/**
 * Yields every recording in the bucket that has no row in the store. The store gets the row of a recording before its first upload, so a
 * recording without a row will never get one.
 */
export async function* bucketOrphans(options: BucketCheckOptions): AsyncGenerator<Finding> {
  const { bucket, orphans } = options;
  const seen = new Set<MediaPath>();
  for await (const { name } of bucket.list('')) {
    const [path = ''] = name.split('/');
    if (!isMediaPath(path) || seen.has(path)) continue;
    seen.add(path);
    // A request to the bucket for each known recording would take long, and costs money.
    if ((await options.store.assets.byPath(path)) !== undefined) continue;
    const manifest = await bucket.get(`${path}/${MANIFEST_NAME}`);
    if (await isDeleted(options.store, path, manifest)) continue;
    if (typeof orphans === 'object') yield await adoptStored(options, path, orphans, manifest);
    else {
      if (orphans === 'delete') for await (const object of bucket.list(`${path}/`)) await bucket.delete(object.name);
      yield { path, asset: undefined, result: orphans === 'delete' ? 'removed' : 'orphan' };
    }
  }
}

/** Adds a recording in the bucket to a stream. */
async function adoptStored(
  options: BucketCheckOptions,
  path: MediaPath,
  stream: Stream,
  manifest: Uint8Array | undefined,
): Promise<Finding> {
  // Without the manifest, the wall-clock time of the media is not known.
  const index = manifest && (await endedIndex(options.bucket, path));
  if (index === undefined) return { path, asset: undefined, result: 'unreadable' };
  const files = { path, sessionId: sessionIn(manifest!), extent: extentOf(index), isStored: true };
  const asset = await adopt(options, stream, files);
  return { path, asset, result: asset === undefined ? 'orphan' : 'adopted' };
}

/** The index of a recording in the bucket. When its machine died before its end, the end is added. Undefined when there is no index. */
async function endedIndex(bucket: ObjectStore, path: MediaPath): Promise<RecordingIndex | undefined> {
  const files = await readStoredIndex(bucket, path);
  if (files.length === 0) return undefined;
  const index = readIndex(files);
  if (index.hasEnded) return index;
  const bytes = Buffer.concat([...files, encodeRecord({ type: 'end' })]);
  const whole = readIndex([bytes]);
  if (!whole.hasEnded) return undefined;
  await bucket.put(`${path}/${WHOLE_INDEX}`, bytes);
  return whole;
}

/** Whether the store has the recording as a deleted one, whose objects the server itself deletes. */
async function isDeleted(store: Store, path: MediaPath, manifest: Uint8Array | undefined): Promise<boolean> {
  const id = manifest === undefined ? undefined : sessionIn(manifest);
  return id !== undefined && (await store.assets.getMany([id], 'all')).some((asset) => asset.path === path);
}

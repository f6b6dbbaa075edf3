/**
 * Finds recordings in the bucket that the store does not have.
 */
import { isMediaPath, type MediaPath } from '#domain/ids.ts';
import type { ObjectStore } from '#objects/objects.ts';
import { MANIFEST_NAME } from '#recording/writer/protocol.ts';
import type { Store } from '#store/store.ts';
import { type Finding, sessionIn } from './recordings-check.ts';

/** The options of the check. */
export interface BucketCheckOptions {
  readonly store: Store;
  readonly bucket: ObjectStore;
  /** Whether the recordings that are found are deleted. No other store may use the prefix of the bucket. */
  readonly isDeleting: boolean;
}

/**
 * Yields every recording in the bucket that the store does not have. The store gets the row of a recording before its first upload, so a
 * recording without a row will never get one.
 */
export async function* bucketOrphans({ store, bucket, isDeleting }: BucketCheckOptions): AsyncGenerator<Finding> {
  const seen = new Set<MediaPath>();
  for await (const { name } of bucket.list('')) {
    const [path = ''] = name.split('/');
    if (!isMediaPath(path) || seen.has(path)) continue;
    seen.add(path);
    if (await isKnown(store, bucket, path)) continue;
    if (isDeleting) for await (const object of bucket.list(`${path}/`)) await bucket.delete(object.name);
    yield { path, asset: undefined, result: isDeleting ? 'removed' : 'orphan' };
  }
}

/** Whether the store has the recording, even as a deleted one: the server itself deletes the objects of those. */
async function isKnown(store: Store, bucket: ObjectStore, path: MediaPath): Promise<boolean> {
  if ((await store.assets.byPath(path)) !== undefined) return true;
  const manifest = await bucket.get(`${path}/${MANIFEST_NAME}`);
  const id = manifest === undefined ? undefined : sessionIn(manifest);
  return id !== undefined && (await store.assets.getMany([id], 'all')).some((asset) => asset.path === path);
}

/**
 * Reads the index of a recording from the bucket.
 */
import type { ObjectCall, ObjectStore } from '#objects/objects.ts';
import { indexName, WHOLE_INDEX } from '#recording/index-file.ts';
import { periodOf } from './upload-plan.ts';

/**
 * The index files of a recording in the bucket, in order: that of the whole recording, which takes one request, or those of its periods.
 * Empty when the bucket has none. A recording whose machine died has no whole index, and its periods are returned up to the first that is
 * missing.
 * @throws {ObjectStoreError} when the bucket fails; the signal's reason
 */
export async function readStoredIndex(
  bucket: ObjectStore,
  path: string,
  call?: ObjectCall,
): Promise<readonly Uint8Array[]> {
  const whole = await bucket.get(`${path}/${WHOLE_INDEX}`, undefined, call);
  if (whole !== undefined) return [whole];
  const periods: number[] = [];
  for await (const { name } of bucket.list(`${path}/${WHOLE_INDEX}.`, call)) {
    const period = periodOf(name.slice(path.length + 1));
    if (period !== undefined && name === `${path}/${indexName(period)}`) periods.push(period);
  }
  const files: Uint8Array[] = [];
  for (const [at, period] of periods.sort((one, other) => one - other).entries()) {
    // Files go to the bucket in any order. An index file after a missing one may refer to renditions that no record describes.
    if (period !== at) break;
    const bytes = await bucket.get(`${path}/${indexName(period)}`, undefined, call);
    if (bytes === undefined) break;
    files.push(bytes);
  }
  return files;
}

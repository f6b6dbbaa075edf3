/**
 * Reads the index of a recording from the bucket.
 */
import { type ObjectCall, type ObjectHead, type ObjectStore, ObjectStoreError } from '#objects/objects.ts';
import { indexName, MAX_INDEX_BYTES, WHOLE_INDEX } from '#recording/index-file.ts';
import { periodOf } from './upload-plan.ts';

/** The most bytes that one request reads. Each request has a time limit of its own, so that a long index arrives through a slow link, too. */
const PIECE_BYTES = 16 * 1024 * 1024;

/**
 * The index files of a recording in the bucket, in order: that of the whole recording, or those of its periods. Empty when the bucket has
 * none. A recording whose machine died has no whole index, and its periods are returned up to the first that is missing. Each file is in a
 * buffer of its own, which the caller may hand over to a thread.
 * @throws {ObjectStoreError} when the bucket fails, or the index is larger than {@link MAX_INDEX_BYTES}; the signal's reason
 */
export async function readStoredIndex(
  bucket: ObjectStore,
  path: string,
  call?: ObjectCall,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  return await readIndexFrom(bucket, path, await headOfIndex(bucket, path, call), call);
}

/** Looks up the index of a whole recording. Undefined when it has not ended, or has ended at a machine that did not upload its end. */
export async function headOfIndex(
  bucket: ObjectStore,
  path: string,
  call?: ObjectCall,
): Promise<ObjectHead | undefined> {
  return await bucket.head(`${path}/${WHOLE_INDEX}`, call);
}

/** Does what {@link readStoredIndex} does, with what {@link headOfIndex} returned. */
export async function readIndexFrom(
  bucket: ObjectStore,
  path: string,
  head: ObjectHead | undefined,
  call?: ObjectCall,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const whole = head && (await readObject(bucket, head, call));
  if (whole !== undefined) return [whole];
  const periods = new Map<number, ObjectHead>();
  for await (const object of bucket.list(`${path}/${WHOLE_INDEX}.`, call)) {
    const period = periodOf(object.name.slice(path.length + 1));
    if (period !== undefined && object.name === `${path}/${indexName(period)}`) periods.set(period, object);
  }
  const files: Uint8Array<ArrayBuffer>[] = [];
  // Files go to the bucket in any order. An index file after a missing one may refer to renditions that no record describes.
  for (let object = periods.get(0); object !== undefined; object = periods.get(files.length)) {
    const bytes = await readObject(bucket, object, call);
    if (bytes === undefined) break;
    files.push(bytes);
  }
  return files;
}

/** Reads an object in pieces. Undefined when it was deleted in the meantime. */
async function readObject(
  bucket: ObjectStore,
  { name, sizeBytes }: ObjectHead,
  call: ObjectCall | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (sizeBytes > MAX_INDEX_BYTES) {
    throw new ObjectStoreError(`GET ${name}: an index of ${sizeBytes} bytes`, { isTemporary: false });
  }
  const bytes = new Uint8Array(sizeBytes);
  for (let from = 0; from < sizeBytes; from += PIECE_BYTES) {
    const piece = await bucket.get(name, { from, until: Math.min(sizeBytes, from + PIECE_BYTES) }, call);
    if (piece === undefined) return undefined;
    bytes.set(piece, from);
  }
  return bytes;
}

/**
 * Reads recordings that are not on this machine from the bucket, in blocks that all viewers share. A recording that many watch is fetched
 * once.
 */
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { MediaPath } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { atMostEntries } from '#lib/lru-limit.ts';
import { type ObjectHead, type ObjectStore, ObjectStoreError } from '#objects/objects.ts';
import type { MovieFile, MovieRequest } from '#recording/movie-file.ts';
import { headOfIndex, readIndexFrom } from '#recording/storage/stored-index.ts';
import { MANIFEST_NAME, type Manifest } from '#recording/writer/protocol.ts';
import { IndexTurns } from './index-turns.ts';
import type { ReadAnswers, StoredFiles } from './protocol.ts';
import type { LocalFileReader, RecordingFileReader } from './reader.ts';

/** The size of a block. At AWS, a GET costs as much as storing a megabyte for half a day. It takes some 50 ms. */
const BLOCK_BYTES = 1024 * 1024;
/** The most memory that blocks take. */
const MAX_BLOCKS_BYTES = 64 * 1024 * 1024;
/** The number of objects whose sizes are remembered. They never change. */
const MAX_SIZES = 20_000;
/** The most blocks that are fetched at the same time. Further reads are refused, so that memory stays bounded while the bucket hangs. */
const MAX_FETCHES = 128;
/** An index up to this size is short. Some 50 minutes with six renditions have an index of this size. */
const SHORT_INDEX_BYTES = 4 * 1024 * 1024;
/** The most short indexes that are fetched and parsed at the same time, and the most requests that look up how large an index is. */
const MAX_SHORT_INDEXES = 16;
/**
 * The most longer indexes that are fetched and parsed at the same time. The index of a day may have 105 MiB, of which this process has one
 * copy, either in the main thread or in the thread that parses it. Through a slow link, it takes minutes.
 */
const MAX_LONG_INDEXES = 2;

/**
 * How long the index of a recording that has not ended is used before it is read again. The machine that wrote it is away, perhaps for
 * good. Recordings that have ended never change, and the library keeps them.
 */
const UNFINISHED_MS = 30_000;
const MAX_UNFINISHED = 50;

/** The options of the reader. */
export interface BucketFileReaderOptions {
  readonly local: LocalFileReader;
  readonly bucket: ObjectStore;
  readonly clock: Clock;
  /** The size up to which an index is short, so that it waits for no long one. By default 4 MiB. */
  readonly shortIndexBytes?: number;
}

type Found = NonNullable<ReadAnswers['index']>;

/** Reads from this machine what is here, and everything else from the bucket. */
export class BucketFileReader implements RecordingFileReader {
  readonly #local: LocalFileReader;
  readonly #bucket: ObjectStore;
  readonly #blocks = new LRUCache<string, Uint8Array>({
    maxSize: MAX_BLOCKS_BYTES,
    sizeCalculation: ({ length }) => length + 200,
  });
  readonly #unfinished = new LRUCache<MediaPath, Found & { readonly at: number }>(atMostEntries(MAX_UNFINISHED));
  readonly #clock: Clock;
  readonly #sizes = new LRUCache<string, number>(atMostEntries(MAX_SIZES));
  readonly #shortIndexBytes: number;
  readonly #shortTurns = new IndexTurns(MAX_SHORT_INDEXES, tooManyIndexes);
  readonly #longTurns = new IndexTurns(MAX_LONG_INDEXES, tooManyIndexes);
  /** Blocks that are being fetched, for all that wait for them. */
  readonly #fetches = new Map<string, Promise<Uint8Array>>();

  constructor({ local, bucket, clock, shortIndexBytes = SHORT_INDEX_BYTES }: BucketFileReaderOptions) {
    this.#local = local;
    this.#clock = clock;
    this.#bucket = bucket;
    this.#shortIndexBytes = shortIndexBytes;
  }

  async index(path: MediaPath, isStored: boolean, address: string): Promise<ReadAnswers['index']> {
    const local = await this.#local.index(path);
    if (local !== undefined) return local;
    const now = this.#clock.monotonic();
    const known = this.#unfinished.get(path);
    if (known !== undefined && !isStored && now - known.at < UNFINISHED_MS) return known;
    const stored = await this.#shortTurns.run(address, () => available(() => this.#lookUp(path)));
    if (stored === undefined) return undefined;
    const index =
      stored.index ??
      (await this.#fetchIndex(path, stored.head, address, async (files) => await this.#local.parse(path, files)));
    if (index === undefined) return undefined;
    const found: Found = { index, manifest: JSON.parse(Buffer.from(stored.manifest).toString()) as Manifest };
    if (!index.hasEnded) this.#unfinished.set(path, { ...found, at: now });
    return found;
  }

  /** Returns what can be known of a recording before its index is fetched. Undefined when it is not in the bucket. */
  async #lookUp(path: MediaPath) {
    const manifest = await this.#bucket.get(`${path}/${MANIFEST_NAME}`);
    if (manifest === undefined) return undefined;
    const index = await this.#local.parse(path, undefined);
    return { manifest, index, head: index === undefined ? await headOfIndex(this.#bucket, path) : undefined };
  }

  /**
   * Fetches the index of a recording and hands it to `use`, unless `use` returns something without it, because it is kept. Undefined when
   * the bucket has none. The index of a recording that has not ended is many files of any size, so it counts as long.
   */
  async #fetchIndex<Answer>(
    path: MediaPath,
    head: ObjectHead | undefined,
    address: string,
    use: (files: StoredFiles) => Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    const isShort = head !== undefined && head.sizeBytes <= this.#shortIndexBytes;
    const turns = isShort ? this.#shortTurns : this.#longTurns;
    return await turns.runOne(path, address, async () => {
      // Another viewer may have fetched the index while this one waited.
      const kept = await use(undefined);
      if (kept !== undefined) return kept;
      const files = await available(() => readIndexFrom(this.#bucket, path, head));
      return files.length === 0 ? undefined : await use(files);
    });
  }

  async read(path: MediaPath, name: string, from: number, until: number, signal: AbortSignal): Promise<Uint8Array> {
    try {
      return await this.#local.read(path, name, from, until);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
    }
    signal.throwIfAborted();
    return await available(() => this.#assemble(`${path}/${name}`, from, until, signal));
  }

  async movie(path: MediaPath, request: MovieRequest, address: string): Promise<MovieFile | undefined> {
    const use = (files: StoredFiles) => this.#local.storedMovie(path, request, files);
    const known = await use(undefined);
    if (known !== undefined) return known.movie;
    const head = await this.#shortTurns.run(address, () => available(() => headOfIndex(this.#bucket, path)));
    return (await this.#fetchIndex(path, head, address, use))?.movie;
  }

  async #assemble(object: string, from: number, until: number, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafe(until - from);
    for (let at = from; at < until; ) {
      const number = Math.floor(at / BLOCK_BYTES);
      const block = await this.#block(object, number);
      signal.throwIfAborted();
      const inBlock = at - number * BLOCK_BYTES;
      const copied = Math.min(block.length - inBlock, until - at);
      if (copied <= 0) throw new MillraceError('recording_unavailable', 'A file of the recording is too short.');
      bytes.set(block.subarray(inBlock, inBlock + copied), at - from);
      at += copied;
    }
    return bytes;
  }

  /**
   * Returns a block. It is fetched for all who wait for it, so a viewer who leaves does not abort it. The time limits of the bucket apply.
   */
  #block(object: string, number: number): Promise<Uint8Array> {
    const key = `${number} ${object}`;
    const known = this.#blocks.get(key);
    if (known !== undefined) return Promise.resolve(known);
    let fetch = this.#fetches.get(key);
    if (fetch === undefined) {
      if (this.#fetches.size >= MAX_FETCHES) throw tooMany('reads of recordings');
      fetch = this.#fetch(object, number)
        .then((block) => {
          this.#blocks.set(key, block);
          return block;
        })
        .finally(() => this.#fetches.delete(key));
      this.#fetches.set(key, fetch);
    }
    return fetch;
  }

  async #fetch(object: string, number: number): Promise<Uint8Array> {
    const sizeBytes = this.#sizes.get(object) ?? (await this.#bucket.head(object))?.sizeBytes;
    if (sizeBytes === undefined)
      throw new MillraceError('recording_unavailable', 'A file of the recording is missing.');
    this.#sizes.set(object, sizeBytes);
    const from = number * BLOCK_BYTES;
    const until = Math.min(sizeBytes, from + BLOCK_BYTES);
    const block = from < until ? await this.#bucket.get(object, { from, until }) : new Uint8Array();
    if (block === undefined) throw new MillraceError('recording_unavailable', 'A file of the recording is missing.');
    return block;
  }
}

function tooMany(what: string): MillraceError {
  return new MillraceError('recording_unavailable', `Too many ${what} wait for the bucket; try again in a moment.`);
}

function tooManyIndexes(): MillraceError {
  return tooMany('requests that open recordings');
}

async function available<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    throw new MillraceError(
      'recording_unavailable',
      'The bucket with the recording does not answer; try again in a moment.',
      {
        cause: error,
      },
    );
  }
}

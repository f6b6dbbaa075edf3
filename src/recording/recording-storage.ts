/**
 * The storage of recordings: the bucket, the thread that uploads and deletes files, and the sweeper that decides what is deleted.
 */
import type { Asset } from '#domain/asset.ts';
import type { AssetId, MediaPath, NodeId, UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import type { Clock } from '#lib/clock.ts';
import { pause } from '#lib/pause.ts';
import { MIB } from '#lib/units.ts';
import type { ObjectSettings } from '#objects/config.ts';
import { openBucket } from '#objects/engines.ts';
import type { ObjectStore } from '#objects/objects.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { RecordingSettings } from './config.ts';
import type { RecordingsPlace } from './recordings-folder.ts';
import { StorageThread } from './storage/storage-thread.ts';
import { Sweeper } from './sweeper.ts';

/** The number of rows that are read from the store at once when the process starts. */
const BATCH = 100;
/** The pause before files of an earlier process are looked for again, after the disk or the store did not answer. */
const LOOK_AGAIN_MS = 30_000;

/** The options of the storage. */
export interface RecordingStorageOptions extends RecordingsPlace {
  readonly settings: Pick<RecordingSettings, 'retentionDays' | 'minFreeMib' | 'whenFull'>;
  readonly objects: ObjectSettings;
  readonly store: Store;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  /** The clock by which recordings expire. */
  readonly deletionClock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Called with true when uploads begin to fail, and with false when they work again. */
  readonly onFailing: (isFailing: boolean) => void;
  /** The quotas of users for whom an admin has set none. */
  readonly quotas: Quotas;
  /** Called with a running recording whose owner's recordings exceed the quota. */
  readonly onOverQuota: (path: MediaPath) => void;
  /** Called before files of a deleted recording are removed, so that nothing reads them any more. */
  readonly onFree: (asset: Asset) => void;
  /** The pause before files of an earlier process are looked for again, in milliseconds. By default 30 s. */
  readonly lookAgainMs?: number;
}

/** The storage of recordings of one process. */
export class RecordingStorage implements AsyncDisposable {
  /** The bucket, for readers. This object closes it. Undefined when recordings stay in their folder. */
  readonly bucket: ObjectStore | undefined;
  readonly #options: RecordingStorageOptions;
  readonly #thread: StorageThread;
  readonly #sweeper: Sweeper;
  readonly #closing = new AbortController();
  /** Whether files of an earlier process have yet to be found. */
  #hasUnknown = false;
  #finding: Promise<void> | undefined;
  #waiting = { files: 0, sizeBytes: 0 };
  #isFailing = false;

  private constructor(options: RecordingStorageOptions, bucket: ObjectStore | undefined) {
    const { folder, noteFile, settings, objects, store, metrics, logger } = options;
    this.#options = options;
    this.bucket = bucket;
    const secretKey = objects.s3SecretAccessKey?.reveal();
    this.#thread = new StorageThread({
      job: {
        place: { folder, noteFile },
        bucket: bucket && { ...objects, s3SecretAccessKey: secretKey },
        graceMs: undefined,
      },
      logger,
      onStored: (path) => this.#sweeper.stored(path),
      onFailing: (reason) => this.#noteFailing(reason),
      onWaiting: (files, sizeBytes) => {
        this.#waiting = { files, sizeBytes };
      },
      onLost: () => this.#takeUp(),
    });
    this.#sweeper = new Sweeper({
      ...options,
      ...settings,
      isShared: store.isShared,
      storage: this.#thread,
      minFreeBytes: settings.minFreeMib * MIB,
    });
    metrics.uploadsWaiting.observe({}, () => this.#waiting.files);
    metrics.uploadBytesWaiting.observe({}, () => this.#waiting.sizeBytes);
    metrics.uploadsFailing.observe({}, () => Number(this.#isFailing));
  }

  /**
   * Opens the storage. It waits for neither the disk nor the bucket, which may both be away.
   * @throws {BucketSettingsError} when the settings of the bucket do not fit together
   */
  static async open(options: RecordingStorageOptions): Promise<RecordingStorage> {
    return new RecordingStorage(options, await openBucket(options.objects, options.clock));
  }

  /** Begins to sweep, and to upload files that an earlier process has left. */
  start(): void {
    this.#sweeper.start();
    this.#takeUp();
  }

  /** Whether the recordings of a user exceed the quota, as far as that is known; see {@link Sweeper.isOverQuota}. */
  isOverQuota(userId: UserId): boolean {
    return this.#sweeper.isOverQuota(userId);
  }

  /** Checks the quota at the beginning of a recording of this user. */
  begun(userId: UserId, path: MediaPath): void {
    this.#sweeper.begun(userId, path);
  }

  /** Notes that this process continues a recording. The files of its first `periods` periods will not change any more. */
  continued(path: MediaPath, periods: number): void {
    if (this.bucket === undefined) return;
    this.#thread.found(path);
    this.#thread.closed(path, [...Array(periods).keys()]);
  }

  /** Notes that the files of these periods of a running recording will not change any more. */
  closed(path: MediaPath, periods: readonly number[]): void {
    if (this.bucket !== undefined) this.#thread.closed(path, periods);
  }

  /** Notes that a recording has ended, and that no file of it will change any more. */
  ended(path: MediaPath): void {
    if (this.bucket !== undefined) this.#thread.ended(path);
  }

  /** Stops sweeping and uploading, and closes the bucket. Uploads in progress are given up, and made again at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    // Both are closed at once, because the sweeper may wait for a deletion that only the end of the thread interrupts.
    await Promise.all([this.#sweeper[Symbol.asyncDispose](), this.#thread[Symbol.asyncDispose](), this.#finding]);
    await this.bucket?.[Symbol.asyncDispose]();
  }

  /** Finds files that an earlier process has left to be uploaded. The start of the server does not wait for it. */
  #takeUp(): void {
    if (this.bucket === undefined) return;
    this.#hasUnknown = true;
    this.#finding ??= this.#findAll().finally(() => {
      this.#finding = undefined;
    });
  }

  async #findAll(): Promise<void> {
    const { logger, lookAgainMs = LOOK_AGAIN_MS } = this.#options;
    const { signal } = this.#closing;
    while (this.#hasUnknown && !signal.aborted) {
      this.#hasUnknown = false;
      try {
        await this.#findLeft();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, 'could not look for recordings on this machine; trying again');
        this.#hasUnknown = true;
        await pause(lookAgainMs, signal);
      }
    }
  }

  /** Uploads only recordings that have a row in the store. All others were deleted, or do not belong here. */
  async #findLeft(): Promise<void> {
    const { assets } = this.#options.store;
    const local = await this.#thread.local();
    const paths = new Map(local.map(({ path, sessionId }) => [sessionId, path]));
    const ids = [...paths.keys()].filter((id) => id !== undefined) as string[] as AssetId[];
    for (let at = 0; at < ids.length; at += BATCH) {
      for (const { id, path } of await assets.getMany(ids.slice(at, at + BATCH))) {
        if (paths.get(id) === path) this.#thread.found(path);
      }
    }
  }

  #noteFailing(reason: string | undefined): void {
    const { logger, onFailing } = this.#options;
    this.#isFailing = reason !== undefined;
    if (reason === undefined) logger.info({}, 'recordings are uploaded again');
    else logger.warn({ reason }, 'recordings cannot be uploaded; they stay on this machine');
    onFailing(this.#isFailing);
  }
}

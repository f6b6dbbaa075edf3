/**
 * Deletes recordings that have been kept long enough, and the bytes of deleted ones, and ends those of users whose recordings take too much.
 *
 * A deleted recording has a row until its bytes are gone, so a process that was killed in the middle, a disk or a bucket that was away leave
 * nothing that is not found again. Clips keep the volumes that they show; with the last clip the rest goes, too.
 */
import type { Asset } from '#domain/asset.ts';
import type { AssetId, MediaPath, NodeId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Clock } from '#lib/clock.ts';
import { pause } from '#lib/pause.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { KeptSpan } from './storage/needed-volumes.ts';
import type { StorageThread } from './storage/storage-thread.ts';

const DAY_MS = 86_400_000;
/** The time between two rounds: bytes are gone within two minutes. */
const INTERVAL_MS = 30_000;
/** A clip that was being created when its recording was deleted is known by then. */
const SETTLED_MS = 60_000;
const BATCH = 100;
const GIB = 1024 ** 3;

/** The options of the sweeper. */
export interface SweeperOptions {
  readonly store: { readonly assets: Pick<Store['assets'], SweeperCall>; readonly users: Pick<Store['users'], 'get'> };
  readonly storage: Pick<StorageThread, 'free' | 'freeBytes' | 'makeRoom' | 'noted'>;
  readonly nodeId: NodeId;
  /** Whether other nodes may have recordings in the same store. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Days after its end that a recording is kept. 0 means forever. */
  readonly retentionDays: number;
  /** The free space below which room is made. */
  readonly minFreeBytes: number;
  readonly whenFull: 'stop' | 'oldest';
  /** The quotas of users that have none of their own. */
  readonly quotas: Quotas;
  /** Called with a running recording whose owner has no more space, again and again while it runs. */
  readonly onOverQuota: (path: MediaPath) => void;
  /** Called before bytes of a recording are deleted, so that nothing reads them any more. */
  readonly onFree: (asset: Asset) => void;
  /** Milliseconds between two rounds. */
  readonly intervalMs?: number;
}

type SweeperCall =
  | 'open'
  | 'bytesOf'
  | 'byPath'
  | 'stored'
  | 'due'
  | 'expire'
  | 'deleting'
  | 'deleted'
  | 'clipsOf'
  | 'oldest';

/** The sweeper of one process. */
export class Sweeper implements AsyncDisposable {
  readonly #options: SweeperOptions;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** What was left of deleted recordings for clips, so that nothing is done while the clips are the same. */
  readonly #left = new Map<AssetId, string>();
  /** Recordings that were expired to make room, and whose bytes are still there. */
  readonly #expired = new Set<AssetId>();
  /** Recordings that are in the bucket, of which the store does not know that yet. */
  readonly #stored = new Set<MediaPath>();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Begins with the first round, at once. */
  start(): void {
    this.#running = this.#run();
  }

  /** Has the store know that a recording is in the bucket, at once or when it can be reached. */
  stored(path: MediaPath): void {
    this.#stored.add(path);
    void this.#attempt(() => this.#noteStored());
  }

  /** Stops after the recording that is being deleted. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { intervalMs = INTERVAL_MS } = this.#options;
    while (!this.#closing.signal.aborted) {
      await this.sweep();
      await pause(intervalMs, this.#closing.signal);
    }
  }

  /** One round. It never throws. */
  async sweep(): Promise<void> {
    await this.#attempt(() => this.#noteStored());
    await this.#attempt(() => this.#expire());
    await this.#attempt(() => this.#delete());
    await this.#attempt(() => this.#mindSpace());
  }

  /** One step that fails does not keep the others from being done. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    if (this.#closing.signal.aborted) return;
    try {
      await step();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'sweep of recordings put off');
    }
  }

  async #noteStored(): Promise<void> {
    const { store, storage } = this.#options;
    for (const path of this.#stored) {
      this.#stored.delete(path);
      try {
        const found = await store.assets.byPath(path);
        if (found !== undefined) await store.assets.stored(found.asset.id);
      } catch (error) {
        this.#stored.add(path);
        throw error;
      }
      storage.noted(path);
    }
  }

  async #expire(): Promise<void> {
    const { store, clock, retentionDays } = this.#options;
    const now = clock.now();
    const endedBefore = retentionDays === 0 ? undefined : ms(now - retentionDays * DAY_MS);
    for (let isLast = false; !isLast && !this.#closing.signal.aborted; ) {
      const due = await store.assets.due({ now, endedBefore, limit: BATCH });
      for (const { id } of due) await this.#expireOne(id, now, 'recording expired');
      isLast = due.length < BATCH;
    }
  }

  async #delete(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const before = ms(clock.now() - SETTLED_MS);
    let after: AssetId | undefined;
    const failures: unknown[] = [];
    for (let isLast = false; !isLast && !this.#closing.signal.aborted; ) {
      const recordings: readonly Asset[] = await store.assets.deleting({ before, after, limit: BATCH });
      for (const recording of recordings) {
        if (this.#closing.signal.aborted) return;
        // One that cannot be deleted does not keep the others from being deleted.
        await this.#deleteBytes(recording).catch((error: unknown) => failures.push(error));
      }
      after = recordings.at(-1)?.id;
      isLast = recordings.length < BATCH;
    }
    if (failures.length > 0) {
      logger.warn({ err: failures[0], recordings: failures.length }, 'deletion of recordings put off');
    }
  }

  async #deleteBytes(recording: Asset): Promise<void> {
    const { store, storage, nodeId, isShared, onFree } = this.#options;
    const clips = await store.assets.clipsOf(recording.id);
    const spans = clips.map(spanOf);
    const left = JSON.stringify(spans);
    if (this.#left.get(recording.id) === left) return;
    onFree(recording);
    await storage.free(recording.path, spans);
    this.#expired.delete(recording.id);
    // Bytes on the disk of another node are that node's to delete, and the row lasts until they are.
    if (clips.length === 0 && (!isShared || recording.nodeId === nodeId)) {
      await store.assets.deleted(recording.id);
      this.#left.delete(recording.id);
    } else this.#left.set(recording.id, left);
  }

  /** Space is of interest only while something is recorded. */
  async #mindSpace(): Promise<void> {
    const { store, nodeId } = this.#options;
    const running = (await store.assets.open(nodeId)).filter(({ phase }) => phase === 'recording');
    if (running.length === 0) return;
    await this.#makeRoom();
    await this.#endBeyondQuotas(running);
  }

  async #makeRoom(): Promise<void> {
    const { store, storage, nodeId, clock, minFreeBytes, whenFull, logger } = this.#options;
    if (minFreeBytes === 0) return;
    const missing = async () => minFreeBytes - ((await storage.freeBytes()) ?? Number.POSITIVE_INFINITY);
    if ((await missing()) <= 0) return;
    const freedBytes = await storage.makeRoom();
    if (freedBytes > 0) logger.warn({ freedBytes }, 'recordings left this machine early, because the disk is full');
    // What is expired here is deleted a minute later, and makes room only then.
    if (whenFull === 'stop' || this.#expired.size > 0) return;
    let missingBytes = await missing();
    for (const { id, sizeBytes } of await store.assets.oldest(nodeId, BATCH)) {
      if (missingBytes <= 0) return;
      if (!(await this.#expireOne(id, clock.now(), 'recording deleted, because the disk is full'))) continue;
      this.#expired.add(id);
      missingBytes -= sizeBytes;
    }
  }

  async #endBeyondQuotas(running: readonly Asset[]): Promise<void> {
    const { store, quotas, onOverQuota } = this.#options;
    for (const [userId, recordings] of Map.groupBy(running, (asset) => asset.userId)) {
      const user = await store.users.get(userId);
      const limitGib = user === undefined ? 0 : quotasOf(user, quotas).recordingGib;
      if (limitGib === 0 || (await store.assets.bytesOf(userId)) < limitGib * GIB) continue;
      for (const { path } of recordings) onOverQuota(path);
    }
  }

  async #expireOne(id: AssetId, at: Milliseconds, why: string): Promise<boolean> {
    const isExpired = await this.#options.store.assets.expire(id, at);
    if (isExpired) this.#options.logger.info({ assetId: id }, why);
    return isExpired;
  }
}

/** What a clip shows. Without a bound it is that of the recording. */
const spanOf = ({ fromMs, untilMs }: Asset): KeptSpan => ({
  fromMs: fromMs ?? 0,
  untilMs: untilMs ?? Number.MAX_SAFE_INTEGER,
});

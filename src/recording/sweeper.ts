/**
 * Deletes recordings whose retention is over, removes the files of deleted recordings, and ends running recordings of users who exceed
 * their quota.
 *
 * A deleted recording keeps its row until its files are gone. So files that are left because the process was killed, or because the disk or
 * the bucket was away, are found again. The volumes that clips need are kept until the last of these clips is deleted.
 */
import type { Asset } from '#domain/asset.ts';
import type { AssetId, MediaPath, NodeId, UserId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Clock } from '#lib/clock.ts';
import { repeat } from '#lib/pause.ts';
import { DAY_MS, GIB, type Milliseconds, ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { StorageThread } from './storage/storage-thread.ts';
import type { KeptSpan } from './storage/unneeded-volumes.ts';

/** How often the clips of a deleted recording are read, in milliseconds. The number of such recordings only grows. */
const CLIPS_EVERY_MS = 300_000;
/** The time between two rounds. The files of a deleted recording are gone within two minutes. */
const INTERVAL_MS = 30_000;
/** How long after its deletion the files of a recording are kept. By then a clip that was being created from it is in the store. */
const SETTLED_MS = 60_000;
const BATCH = 100;

/** The options of the sweeper. */
export interface SweeperOptions {
  readonly store: { readonly assets: Pick<Store['assets'], SweeperCall>; readonly users: Pick<Store['users'], 'get'> };
  readonly storage: Pick<StorageThread, 'free' | 'freeDisk' | 'freeBytes' | 'makeRoom' | 'noted'>;
  readonly nodeId: NodeId;
  /** Whether other nodes may have recordings in the same store. */
  readonly isShared: boolean;
  readonly clock: Clock;
  /** The clock by which recordings expire. What somebody has deleted is removed by `clock`, by which its deletion is dated. */
  readonly deletionClock: Clock;
  readonly logger: Logger;
  /** The number of days for which a recording is kept after its end. 0 means forever. */
  readonly retentionDays: number;
  /** The free space of the disk, in bytes, below which files are removed. 0: never. */
  readonly minFreeBytes: number;
  readonly whenFull: 'stop' | 'oldest';
  /** The quotas of users for whom an admin has set none. */
  readonly quotas: Quotas;
  /** Called with a running recording whose owner's recordings exceed the quota, in every round while it runs. */
  readonly onOverQuota: (path: MediaPath) => void;
  /** Called before files of a recording are removed, so that nothing reads them any more. */
  readonly onFree: (asset: Asset) => void;
  /** The time between two rounds in milliseconds. By default 30 s. */
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
  #running: Promise<unknown> | undefined;
  /**
   * The spans of clips for which files of deleted recordings were kept, and the monotonic time at which they were last read. While they are
   * the same, there is nothing to do.
   */
  readonly #left = new Map<AssetId, { readonly spans: string; readonly at: Milliseconds }>();
  /** Recordings that were expired because the disk is full, and whose files are still on it, with the monotonic time of their expiry. */
  readonly #expired = new Map<AssetId, { readonly recording: Asset; readonly at: Milliseconds }>();
  /** Users whose recordings exceeded the quota when it was last checked. It is checked again in every round. */
  readonly #overQuota = new Set<UserId>();
  /** Recordings that are in the bucket, but whose rows do not say so yet. */
  readonly #stored = new Set<MediaPath>();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Begins the first round at once. Called once. */
  start(): void {
    // Deletions wait for the bucket, for minutes when it does not answer. Space and quotas are checked in the meantime.
    const { intervalMs = INTERVAL_MS } = this.#options;
    const { signal } = this.#closing;
    this.#running = Promise.all([
      repeat(() => this.#mind(), intervalMs, signal),
      repeat(() => this.#clear(), intervalMs, signal),
    ]);
  }

  /** Notes in the store that a recording is in the bucket, at once or when the store can be reached again. Never throws. */
  stored(path: MediaPath): void {
    this.#stored.add(path);
    void this.#attempt(() => this.#noteStored());
  }

  /** Whether the recordings of a user exceeded the quota when it was last checked, at most a round ago. */
  isOverQuota(userId: UserId): boolean {
    return this.#overQuota.has(userId);
  }

  /**
   * Checks the quota at the beginning of a recording. Otherwise sessions that are shorter than a round would not be bounded by it. When the
   * store cannot be reached, the next round checks it. Never throws.
   */
  begun(userId: UserId, path: MediaPath): void {
    void this.#attempt(async () => {
      await this.#checkQuota(userId);
      if (this.isOverQuota(userId)) this.#options.onOverQuota(path);
    });
  }

  /** Stops. Resolves when the deletion in progress is over, which the end of the storage thread interrupts. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** Makes one round of everything. It never throws. */
  async sweep(): Promise<void> {
    await this.#mind();
    await this.#clear();
  }

  /** Runs the steps that wait only for the disk and the store, and never for the bucket. */
  async #mind(): Promise<void> {
    await this.#attempt(() => this.#noteStored());
    await this.#attempt(() => this.#expire());
    await this.#attempt(() => this.#mindSpace());
  }

  async #clear(): Promise<void> {
    await this.#attempt(() => this.#delete());
  }

  /** Runs a step. When it fails, the others are run nevertheless. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    if (this.#closing.signal.aborted) return;
    try {
      await step();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#options.logger.warn({ err: error }, 'sweep of recordings failed; it is tried again');
    }
  }

  async #noteStored(): Promise<void> {
    const { store, storage } = this.#options;
    // A path that must wait longer is added again.
    const waiting = [...this.#stored];
    for (const path of waiting) {
      if (!this.#stored.delete(path)) continue;
      let isNoted = false;
      try {
        const found = await store.assets.byPath(path);
        // The session of a recording that ended early still runs. After a restart, its recorder must find the recorded end in the folder.
        const isEarly = found !== undefined && ['recording', 'storing'].includes(found.asset.phase);
        isNoted = found === undefined || (!isEarly && (await store.assets.stored(found.asset.id)));
      } finally {
        if (!isNoted) this.#stored.add(path);
      }
      if (isNoted) storage.noted(path);
    }
  }

  async #expire(): Promise<void> {
    const { store, clock, deletionClock, retentionDays } = this.#options;
    const now = deletionClock.now();
    const endedBefore = retentionDays === 0 ? undefined : ms(now - retentionDays * DAY_MS);
    for (let isLast = false; !isLast && !this.#closing.signal.aborted; ) {
      const due = await store.assets.due({ now, endedBefore, limit: BATCH });
      for (const { id } of due) await this.#expireOne(id, clock.now(), 'recording expired');
      isLast = due.length < BATCH;
    }
  }

  async #delete(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const before = ms(clock.now() - SETTLED_MS);
    let after: AssetId | undefined;
    const failures: unknown[] = [];
    const found = new Set<AssetId>();
    for (let isLast = false; !isLast && !this.#closing.signal.aborted; ) {
      const recordings: readonly Asset[] = await store.assets.deleting({ before, after, limit: BATCH });
      for (const recording of recordings) {
        if (this.#closing.signal.aborted) return;
        found.add(recording.id);
        // A recording that cannot be deleted does not keep the others from being deleted.
        await this.#deleteBytes(recording).catch((error: unknown) => failures.push(error));
      }
      after = recordings.at(-1)?.id;
      isLast = recordings.length < BATCH;
    }
    // The node that has the files of a recording ends its deletion.
    for (const id of this.#left.keys()) if (!found.has(id)) this.#left.delete(id);
    if (failures.length > 0 && !this.#closing.signal.aborted) {
      logger.warn(
        { err: failures[0], recordings: failures.length },
        'recordings could not be deleted; it is tried again',
      );
    }
  }

  async #deleteBytes(recording: Asset): Promise<void> {
    const { store, storage, nodeId, isShared, onFree, clock } = this.#options;
    const before = this.#left.get(recording.id);
    if (before !== undefined && clock.monotonic() - before.at < CLIPS_EVERY_MS) return;
    const clips = await store.assets.clipsOf(recording.id);
    const spans = clips.map(spanOf);
    const left = { spans: JSON.stringify(spans), at: clock.monotonic() };
    if (before?.spans === left.spans) {
      this.#left.set(recording.id, left);
      return;
    }
    onFree(recording);
    await storage.free(recording.path, spans);
    this.#expired.delete(recording.id);
    // Files on the disk of another node are deleted by that node, and the row lasts until then.
    if (clips.length === 0 && (!isShared || recording.nodeId === nodeId)) await store.assets.deleted(recording.id);
    else this.#left.set(recording.id, left);
  }

  /** Checks free space, which matters only while something is recorded, and quotas. */
  async #mindSpace(): Promise<void> {
    const { store, nodeId } = this.#options;
    const running = (await store.assets.open(nodeId)).filter(({ phase }) => phase === 'recording');
    if (running.length > 0) await this.#attempt(() => this.#makeRoom());
    await this.#endBeyondQuotas(running);
  }

  async #makeRoom(): Promise<void> {
    const { store, storage, nodeId, clock, minFreeBytes, whenFull, logger } = this.#options;
    if (minFreeBytes === 0) return;
    await this.#freeExpired();
    const missing = async () => minFreeBytes - ((await storage.freeBytes()) ?? Number.POSITIVE_INFINITY);
    if ((await missing()) <= 0) return;
    const freedBytes = await storage.makeRoom();
    if (freedBytes > 0)
      logger.warn({ freedBytes }, 'uploaded recordings were removed from the disk early, because it is full');
    // The files of recordings that are expired here are removed a minute later. Only then is there more space.
    if (whenFull === 'stop' || this.#expired.size > 0) return;
    let missingBytes = await missing();
    for (const recording of await store.assets.oldest(nodeId, BATCH)) {
      const { id, sizeBytes } = recording;
      if (missingBytes <= 0) return;
      if (!(await this.#expireOne(id, clock.now(), 'recording deleted, because the disk is full'))) continue;
      this.#expired.set(id, { recording, at: clock.monotonic() });
      missingBytes -= sizeBytes;
    }
  }

  /** Removes the files of expired recordings from the disk alone, because the bucket may be away just when the disk is full. */
  async #freeExpired(): Promise<void> {
    const { store, storage, clock, onFree } = this.#options;
    const before = clock.monotonic() - SETTLED_MS;
    for (const [id, { recording, at }] of this.#expired) {
      if (at >= before) continue;
      const clips = await store.assets.clipsOf(id);
      onFree(recording);
      await storage.freeDisk(recording.path, clips.map(spanOf));
      this.#expired.delete(id);
    }
  }

  async #endBeyondQuotas(running: readonly Asset[]): Promise<void> {
    const recordings = Map.groupBy(running, ({ userId }) => userId);
    for (const userId of this.#overQuota.union(recordings)) {
      await this.#checkQuota(userId);
      if (!this.isOverQuota(userId)) continue;
      for (const { path } of recordings.get(userId) ?? []) this.#options.onOverQuota(path);
    }
  }

  async #checkQuota(userId: UserId): Promise<void> {
    const { store, quotas } = this.#options;
    const user = await store.users.get(userId);
    const limitGib = user === undefined ? 0 : quotasOf(user, quotas).recordingGib;
    if (limitGib > 0 && (await store.assets.bytesOf(userId)) >= limitGib * GIB) this.#overQuota.add(userId);
    else this.#overQuota.delete(userId);
  }

  async #expireOne(id: AssetId, at: Milliseconds, why: string): Promise<boolean> {
    const isExpired = await this.#options.store.assets.expire(id, at);
    if (isExpired) this.#options.logger.info({ assetId: id }, why);
    return isExpired;
  }
}

/** The span that a clip shows. A bound that is left out is that of the recording. */
const spanOf = ({ fromMs, untilMs }: Asset): KeptSpan => ({
  fromMs: fromMs ?? 0,
  untilMs: untilMs ?? Number.MAX_SAFE_INTEGER,
});

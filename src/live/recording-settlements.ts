/**
 * Keeps the assets in the store in agreement with the recordings on the disk: their extent while they run, and their end. Where this
 * failed, because the disk or the store failed or the process was killed, it is tried again.
 */
import type { Asset, AssetExtent } from '#domain/asset.ts';
import type { AssetId, MediaPath, NodeId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import { within } from '#lib/within.ts';
import type { FileRecorders } from '#recording/recorders.ts';
import type { Library, Recorded } from '#recording/recording.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** The time between two rounds, in each of which the store is asked for recordings that have not been settled. */
const EVERY_MS = 5000;
/** The extent of running recordings is stored in one of this many rounds. */
const PROGRESS_ROUNDS = 6;
/**
 * How long a round waits for the bucket, because the end of the process waits for the round. An index that takes longer is still read, and
 * used by a later round.
 */
const BUCKET_WITHIN_MS = 3000;

/** The options of the settlements. */
export interface RecordingSettlementsOptions {
  readonly assets: Pick<Store['assets'], 'open' | 'progress' | 'finish' | 'fail' | 'stored'>;
  /** Opens recordings that are in the bucket. */
  readonly library: Library;
  readonly recorders: Pick<FileRecorders, 'running' | 'settle'>;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time between two rounds in milliseconds. By default 5 s. */
  readonly everyMs?: number;
  /** How long a round waits for the bucket, in milliseconds. By default 3 s. */
  readonly bucketWithinMs?: number;
}

/** Settles the recordings of this node until it is disposed: sets their assets to `ready` or `failed` once they have ended. */
export class RecordingSettlements implements AsyncDisposable {
  readonly #options: RecordingSettlementsOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #rounds = 0;
  /** Recordings that could not be read from the bucket, so that each is logged once. */
  readonly #unreadable = new Set<AssetId>();
  #isClosed = false;

  constructor(options: RecordingSettlementsOptions) {
    this.#options = options;
    this.#later();
  }

  /** Settles the recording of a session whose end is durable, at once. When the store fails, a later round does. Never throws. */
  ended(session: Session, extent: AssetExtent): void {
    void this.#attempt(() => this.#finish(session.id as string as AssetId, extent), session.id);
  }

  /** Stops. Resolves after the current round. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #later(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#attempt(() => this.#settleAll(), undefined).then(() => this.#later());
    }, this.#options.everyMs ?? EVERY_MS);
  }

  async #settleAll(): Promise<void> {
    const { assets, nodeId } = this.#options;
    const open = await assets.open(nodeId);
    this.#rounds += 1;
    const isDue = this.#rounds % PROGRESS_ROUNDS === 0;
    // Viewers at other nodes can seek back only once the beginning of a recording is stored, so that is looked for in every round.
    const growing = open.filter(({ phase, fromMs }) => phase === 'recording' && (isDue || fromMs === undefined));
    // At the same time, so that they share a commit.
    await Promise.all(growing.map((asset) => this.#attempt(() => this.#progress(asset), asset.id)));
    for (const asset of open) {
      if (this.#isClosed) return;
      if (asset.phase !== 'recording') await this.#attempt(() => this.#settle(asset), asset.id);
    }
  }

  async #progress({ id, path }: Asset): Promise<void> {
    const running = this.#options.recorders.running(path);
    if (running !== undefined) await this.#options.assets.progress(id, running.extent);
  }

  async #settle({ id, path, isStored, ...asset }: Asset): Promise<void> {
    const { assets, recorders, clock } = this.#options;
    // The session has not ended in this process. Another node has ended it in the store, because this one was frozen or could not reach the
    // store. Either the session is resumed, or it ends here too, and with it the recorder.
    if (recorders.running(path) !== undefined) return;
    const extent = await recorders.settle(path);
    if (extent !== undefined) await this.#finish(id, extent);
    else if (isStored) await this.#finish(id, asset);
    else {
      // After the database was restored from a backup, a recording may be complete in the bucket, and have left the disk.
      const stored = await this.#openStored(id, path);
      if (stored === undefined || stored.isRunning) {
        await assets.fail(id, 'Its files are not on this server.', clock.now());
        return;
      }
      await this.#finish(id, stored.extent);
      await assets.stored(id);
    }
  }

  /** Opens a recording in the bucket. @throws when the bucket does not answer in time, or the recording cannot be read */
  async #openStored(id: AssetId, path: MediaPath): Promise<Recorded | undefined> {
    const { library, logger, bucketWithinMs = BUCKET_WITHIN_MS } = this.#options;
    const opening = library.open(path, true);
    try {
      if (!(await within(bucketWithinMs, opening))) throw new Error('The bucket does not answer in time.');
      this.#unreadable.delete(id);
      return await opening;
    } catch (error) {
      const sentence = 'a recording that an earlier process left cannot be read from the bucket; it is tried again';
      if (!this.#unreadable.has(id)) logger.warn({ err: error, assetId: id }, sentence);
      this.#unreadable.add(id);
      throw error;
    }
  }

  async #finish(id: AssetId, extent: AssetExtent): Promise<void> {
    const { assets, clock, logger } = this.#options;
    const isSettled = await assets.finish(id, extent, clock.now());
    if (isSettled) logger.info({ assetId: id, durationS: extent.durationS }, 'recording ready');
  }

  async #attempt(run: () => Promise<void>, id: string | undefined): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#options.logger.debug({ err: error, id }, 'a recording is not settled yet');
    }
  }
}

/**
 * Keeps the assets of recordings in agreement with what is recorded: how much there is while a session runs, and the end. What could not be
 * settled, because the disk or the store failed or the process was killed, is tried again.
 */
import type { Asset, AssetExtent } from '#domain/asset.ts';
import type { AssetId, NodeId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import type { FileRecorders } from '#recording/recorders.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** How often it is looked for what is to be settled. */
const EVERY_MS = 5000;
/** In how many rounds of these the extent of running recordings is stored once. */
const PROGRESS_ROUNDS = 6;

/** The options of the settlements. */
export interface RecordingSettlementsOptions {
  readonly assets: Pick<Store['assets'], 'open' | 'progress' | 'finish' | 'fail'>;
  readonly recorders: Pick<FileRecorders, 'running' | 'settle'>;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between two rounds. */
  readonly everyMs?: number;
}

/** Settles the recordings of this node, until it is disposed. */
export class RecordingSettlements implements AsyncDisposable {
  readonly #options: RecordingSettlementsOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #rounds = 0;
  #isClosed = false;

  constructor(options: RecordingSettlementsOptions) {
    this.#options = options;
    this.#later();
  }

  /** Settles the recording of a session at once. */
  ended(session: Session, extent: AssetExtent): void {
    void this.#attempt(() => this.#finish(session.id as string as AssetId, extent), session.id);
  }

  /** Ends the current round. */
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
    // Viewers of other nodes can seek back once the beginning is stored, so a recording that has just begun is stored in every round.
    const growing = open.filter(({ phase, fromMs }) => phase === 'recording' && (isDue || fromMs === undefined));
    // Together, so that they share a commit.
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

  async #settle({ id, path }: Asset): Promise<void> {
    const { assets, recorders, clock } = this.#options;
    const extent = await recorders.settle(path);
    if (extent !== undefined) await this.#finish(id, extent);
    else await assets.fail(id, 'Its files are not on this server.', clock.now());
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

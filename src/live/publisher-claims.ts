/**
 * Which streams this node has taken for its publishers, so that no other node accepts a second one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeId, StreamId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** Pause before the store is asked again. */
const RETRY_MS = 1000;

/** What claims are made with. */
export interface PublisherClaimsOptions {
  readonly store: Store;
  readonly nodeId: NodeId;
  readonly logger: Logger;
}

/** The claims of one node. At most one release of a stream is under way, and a claim waits for it, so that none overtakes another. */
export class PublisherClaims implements AsyncDisposable {
  readonly #options: PublisherClaimsOptions;
  readonly #held = new Set<StreamId>();
  readonly #releases = new Map<StreamId, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: PublisherClaimsOptions) {
    this.#options = options;
  }

  /** Takes a stream; false while a publisher of it is connected to another node. @throws {MillraceError} `store_unavailable` */
  async claim(streamId: StreamId): Promise<boolean> {
    const { store, nodeId } = this.#options;
    this.#held.add(streamId);
    await this.#releases.get(streamId);
    try {
      const isOurs = await store.publishers.claim(streamId, nodeId);
      if (!isOurs) this.#held.delete(streamId);
      return isOurs;
    } catch (error) {
      this.release(streamId); // it may still have happened
      throw error;
    }
  }

  /** Gives a stream back, in its own time. */
  release(streamId: StreamId): void {
    this.#held.delete(streamId);
    if (this.#releases.has(streamId)) return;
    const release = this.#release(streamId).finally(() => this.#releases.delete(streamId));
    this.#releases.set(streamId, release);
  }

  /**
   * Takes again what was taken: the database may have given it to others while this node seemed dead. What cannot be asked now is
   * taken as still held. Never rejects.
   * @param onLost called for what another node has by now
   */
  async reclaim(onLost: (streamId: StreamId) => void): Promise<void> {
    const { store, nodeId, logger } = this.#options;
    for (const streamId of [...this.#held]) {
      try {
        if ((await store.publishers.claim(streamId, nodeId)) || !this.#held.delete(streamId)) continue;
        onLost(streamId);
      } catch (error) {
        logger.debug({ streamId, err: error }, 'publisher not claimed again in the store');
      }
    }
  }

  /** Waits for what is being given back; a store that does not answer is asked no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#releases.values());
  }

  /** Until it worked, or the stream was claimed anew. Never rejects. */
  async #release(streamId: StreamId): Promise<void> {
    const { store, nodeId, logger } = this.#options;
    while (!this.#held.has(streamId)) {
      try {
        await store.publishers.release(streamId, nodeId);
        return;
      } catch (error) {
        logger.debug({ streamId, err: error }, 'publisher not released in the store');
        if (this.#closing.signal.aborted) return;
        await sleep(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
    }
  }
}

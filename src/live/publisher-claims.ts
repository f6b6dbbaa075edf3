/**
 * Which streams this node has taken for its publishers, so that no other node accepts a second one.
 */
import type { NodeId, StreamId } from '#domain/ids.ts';
import { pause } from '#lib/pause.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** Pause before the store is asked again. */
const RETRY_MS = 1000;

/** What claims are made with. */
export interface PublisherClaimsOptions {
  readonly store: Store;
  readonly nodeId: NodeId;
  readonly logger: Logger;
  /** Another node has the publisher of a stream that was taken here. */
  readonly onLost: (streamId: StreamId) => void;
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

  /** Whether the stream is taken, or being taken. */
  holds(streamId: StreamId): boolean {
    return this.#held.has(streamId);
  }

  /**
   * Takes a stream whose publisher is connected here once more: another node may have it by now, and then that publisher must go. A
   * store that is away leaves things as they are. Never rejects.
   */
  async confirm(streamId: StreamId): Promise<void> {
    const { store, nodeId, logger, onLost } = this.#options;
    this.#held.add(streamId);
    await this.#releases.get(streamId);
    try {
      if ((await store.publishers.claim(streamId, nodeId)) || !this.#held.delete(streamId)) return;
      onLost(streamId);
    } catch (error) {
      logger.debug({ streamId, err: error }, 'publisher not confirmed in the store');
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
        await pause(RETRY_MS, this.#closing.signal);
      }
    }
  }
}

/**
 * The streams that this node has claimed for its publishers, so that no other node accepts a second one.
 */
import type { NodeId, StreamId } from '#domain/ids.ts';
import { pause } from '#lib/pause.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** The pause before the store is asked again. */
const RETRY_MS = 1000;

/** The options of claims. */
export interface PublisherClaimsOptions {
  readonly store: Store;
  readonly nodeId: NodeId;
  readonly logger: Logger;
  /** Called when another node has the publisher of a stream that was claimed by this node. */
  readonly onLost: (streamId: StreamId) => void;
}

/**
 * The claims of one node. At most one release of a stream is in progress, and a claim waits for it. When the publisher leaves during a
 * claim, its release may overtake the claim, so another release follows.
 */
export class PublisherClaims implements AsyncDisposable {
  readonly #options: PublisherClaimsOptions;
  readonly #held = new Set<StreamId>();
  /** The held streams whose claim the store did not answer. Another node may have claimed them. */
  readonly #unconfirmed = new Set<StreamId>();
  readonly #releases = new Map<StreamId, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: PublisherClaimsOptions) {
    this.#options = options;
  }

  /** Claims a stream. Returns false while its publisher is connected to another node. @throws {MillraceError} `store_unavailable` */
  async claim(streamId: StreamId): Promise<boolean> {
    const { store, nodeId } = this.#options;
    this.#held.add(streamId);
    await this.#releases.get(streamId);
    try {
      const isOurs = await store.publishers.claim(streamId, nodeId);
      if (!isOurs) this.#held.delete(streamId);
      return isOurs;
    } catch (error) {
      this.release(streamId); // the store may have carried out the claim
      throw error;
    }
  }

  /** Releases a stream in the background. */
  release(streamId: StreamId): void {
    this.#held.delete(streamId);
    this.#unconfirmed.delete(streamId);
    if (this.#releases.has(streamId)) return;
    const release = this.#release(streamId).finally(() => this.#releases.delete(streamId));
    this.#releases.set(streamId, release);
  }

  /** Whether the stream is claimed or is being claimed, as far as this node knows. */
  holds(streamId: StreamId): boolean {
    return this.#held.has(streamId);
  }

  /** Whether a stream that is published must be confirmed: it was released, or the store did not answer the last time. */
  mustConfirm(streamId: StreamId): boolean {
    return !this.holds(streamId) || this.#unconfirmed.has(streamId);
  }

  /**
   * Claims again a stream whose publisher is connected to this node. If another node has claimed it by now, that publisher must go. During
   * an outage of the store nothing changes, and {@link mustConfirm} says so. Never rejects.
   */
  async confirm(streamId: StreamId): Promise<void> {
    const { store, nodeId, logger, onLost } = this.#options;
    this.#held.add(streamId);
    this.#unconfirmed.delete(streamId);
    await this.#releases.get(streamId);
    if (!this.holds(streamId)) return; // the publisher has left
    try {
      const isOurs = await store.publishers.claim(streamId, nodeId);
      if (isOurs) this.#releaseUnlessHeld(streamId);
      else if (this.#held.delete(streamId)) onLost(streamId);
    } catch (error) {
      if (this.holds(streamId)) this.#unconfirmed.add(streamId);
      else this.#releaseUnlessHeld(streamId); // the store may have carried out the claim
      logger.debug({ streamId, err: error }, 'publisher not confirmed in the store');
    }
  }

  /**
   * Releases a stream whose publisher has left while it was being claimed. A release that is in progress may have come before the claim, so
   * another one follows it.
   */
  #releaseUnlessHeld(streamId: StreamId): void {
    if (this.holds(streamId)) return;
    void (this.#releases.get(streamId) ?? Promise.resolve()).then(() => {
      if (!this.holds(streamId)) this.release(streamId);
    });
  }

  /** Waits for releases in progress. A store that does not answer is not asked again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#releases.values());
  }

  /** Releases a stream, and repeats it until it worked or the stream was claimed again. Never rejects. */
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

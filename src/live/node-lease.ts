/**
 * This process as one of several on a database: tells the others that it lives, and ends what the dead have left behind.
 */
import type { ServiceNode } from '#domain/node.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** A node that was not heard of for so long is taken for dead. */
export const LEASE_MS = 6000;
/**
 * How often a node renews its lease, looks at the leases of others, and writes how many viewers it has. A dead node's sessions end
 * within 6 + 2 s, and other nodes know the number of viewers as it was at most one beat ago.
 */
export const BEAT_MS = 2000;

/** What a lease is made with. */
export interface NodeLeaseOptions {
  readonly store: Store;
  readonly node: ServiceNode;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called at every beat, whether or not the store answers. */
  readonly onBeat: () => void;
  /** Whether anything waits here for this process to be started again. */
  readonly isWaitedFor: () => boolean;
  /** The lease had run out: another node may have ended what runs here. */
  readonly onRegained: () => void;
}

/** Holds the lease until disposed. */
export class NodeLease implements AsyncDisposable {
  readonly #options: NodeLeaseOptions;
  #node: ServiceNode;
  /** Monotonic time from which on it was held without a gap. */
  #heldSince: number;
  /** Monotonic time from which on it surely lasted: the last renewal, when it was asked for. */
  #renewedAt: number;
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void> | undefined;

  private constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#node = options.node;
    this.#renewedAt = options.clock.monotonic();
    this.#heldSince = this.#renewedAt;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
  }

  /** Takes the lease: from now on the others know of this node. @throws {MillraceError} `store_unavailable` */
  static async take(options: NodeLeaseOptions): Promise<NodeLease> {
    await options.store.nodes.renew(options.node, LEASE_MS);
    return new NodeLease(options);
  }

  /** The address turned out to be another one. @throws {MillraceError} `store_unavailable` */
  async moveTo(url: string): Promise<void> {
    this.#node = { ...this.#node, url };
    await this.#options.store.nodes.renew(this.#node, LEASE_MS);
  }

  /** Gives the lease back; lets it run out where sessions wait, so that a restart within that time finds them. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { store, isWaitedFor, logger } = this.#options;
    clearInterval(this.#timer);
    await this.#beating;
    if (isWaitedFor()) return;
    try {
      await store.nodes.leave(this.#node.id);
    } catch (error) {
      logger.debug({ err: error }, 'lease of this node not given back');
    }
  }

  #beat(): void {
    this.#options.onBeat();
    this.#beating ??= this.#renewInTime().finally(() => {
      this.#beating = undefined;
    });
  }

  /**
   * Renews once more, without waiting for the next beat, where that took longer than a lease lasts: this process was frozen meanwhile, or
   * the store was stuck, and another node may have taken what runs here.
   */
  async #renewInTime(): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    await this.#renew();
    if (clock.monotonic() - startedAt > LEASE_MS) await this.#renew();
  }

  /** Never rejects: a store that is away is asked again at the next beat. */
  async #renew(): Promise<void> {
    const { store, clock, logger, onRegained } = this.#options;
    const askedAt = clock.monotonic();
    try {
      const { hadLapsed } = await store.nodes.renew(this.#node, LEASE_MS);
      if (hadLapsed || askedAt - this.#renewedAt > LEASE_MS) {
        logger.warn({ nodeId: this.#node.id }, 'lease of this node had run out');
        // Not from when it was asked for: a store that was stuck answers late, and the others' renewals are as late.
        this.#heldSince = clock.monotonic();
        this.#renewedAt = this.#heldSince;
        onRegained();
      } else this.#renewedAt = askedAt;
      await this.#sweep();
    } catch (error) {
      logger.debug({ err: error }, 'lease of this node not renewed');
    }
  }

  /**
   * Ends what dead nodes left. Not before this node's own lease has been held as long as a lease lasts: after an outage of the
   * database every lease has run out, and the others need that long to renew theirs.
   */
  async #sweep(): Promise<void> {
    const { store, clock, logger } = this.#options;
    if (clock.monotonic() - this.#heldSince < LEASE_MS) return;
    for (const nodeId of await store.nodes.lapsed()) {
      const sessions = await store.nodes.endSessionsOf(nodeId, clock.now());
      logger.warn({ nodeId, sessions: sessions.length }, 'node lost: its sessions are ended');
    }
  }
}

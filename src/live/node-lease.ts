/**
 * Holds this node's lease in the database that several nodes share, and ends the sessions that lost nodes have left behind.
 */
import type { ServiceNode } from '#domain/node.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** A node that has not renewed its lease for this long is taken for dead. */
export const LEASE_MS = 6000;
/**
 * The interval of the heartbeat, at which a node renews its lease, checks the leases of others, and writes its numbers of viewers. The
 * sessions of a lost node end within 6 + 2 s while the store answers in time. The numbers of viewers that other nodes read are at most one
 * beat old.
 */
export const BEAT_MS = 2000;
/**
 * A longer time between two renewals of this node shows that another node's lease may have run out although that node lives: whatever held
 * up this node's renewals may have held up those of others, whose beats differ by up to one interval.
 */
const STEADY_MS = LEASE_MS - BEAT_MS;

/** The options of a lease. */
export interface NodeLeaseOptions {
  readonly store: Store;
  readonly node: ServiceNode;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called at every beat, whether or not the store answers. */
  readonly onBeat: () => void;
  /** Whether this process has sessions that have not ended, so that they are to continue after its restart. */
  readonly hasRunningSessions: () => boolean;
  /** Called when the lease had run out, so that another node may have ended the sessions of this one. */
  readonly onRegained: () => void;
}

/** Holds the lease until disposed. */
export class NodeLease implements AsyncDisposable {
  readonly #options: NodeLeaseOptions;
  #node: ServiceNode;
  /** The monotonic time since which every renewal came within {@link STEADY_MS} of the one before. */
  #steadySince: number;
  /** The monotonic time at which the last renewal was requested. The lease lasts for at least {@link LEASE_MS} from then. */
  #renewedAt: number;
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void> | undefined;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#node = options.node;
    this.#renewedAt = options.clock.monotonic();
    this.#steadySince = this.#renewedAt;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
  }

  /** Takes the lease. From now on the others know this node. @throws {MillraceError} `store_unavailable` */
  static async take(options: NodeLeaseOptions): Promise<NodeLease> {
    await options.store.nodes.renew(options.node, LEASE_MS);
    return new NodeLease(options);
  }

  /** Changes the URL of the node. @throws {MillraceError} `store_unavailable` */
  async moveTo(url: string): Promise<void> {
    this.#node = { ...this.#node, url };
    await this.#options.store.nodes.renew(this.#node, LEASE_MS);
  }

  /** Gives the lease up. While sessions run, it is left to run out instead, so that a process that starts within that time resumes them. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { store, hasRunningSessions, logger } = this.#options;
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#beating;
    await this.#sweeping;
    if (hasRunningSessions()) return;
    try {
      await store.nodes.leave(this.#node.id);
    } catch (error) {
      logger.debug({ err: error }, 'lease of this node could not be released');
    }
  }

  #beat(): void {
    this.#options.onBeat();
    this.#beating ??= this.#renewInTime().finally(() => {
      this.#beating = undefined;
    });
  }

  /**
   * Renews again without waiting for the next beat, if a beat has passed in the meantime. This process was then frozen, or the store was
   * stuck, and the lease has run out or soon will.
   */
  async #renewInTime(): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    await this.#renew();
    if (clock.monotonic() - startedAt > BEAT_MS) await this.#renew();
  }

  /** Renews the lease. Never rejects: while the store is down, the next beat tries again. */
  async #renew(): Promise<void> {
    const { store, clock, logger, onRegained } = this.#options;
    const askedAt = clock.monotonic();
    try {
      const { hadLapsed } = await store.nodes.renew(this.#node, LEASE_MS);
      // The time of the answer counts, because others see a renewal only once it is committed, and a stuck store commits late.
      const answeredAt = clock.monotonic();
      if (answeredAt - askedAt > LEASE_MS) throw new Error('the answer came when the renewed lease had run out again');
      const sinceMs = answeredAt - this.#renewedAt;
      this.#renewedAt = askedAt;
      if (hadLapsed || sinceMs > STEADY_MS) this.#steadySince = answeredAt;
      if (hadLapsed || sinceMs > LEASE_MS) {
        logger.warn(
          { nodeId: this.#node.id },
          'lease of this node had expired; other servers may have ended its sessions',
        );
        onRegained();
      }
    } catch (error) {
      logger.debug({ err: error }, 'lease of this node not renewed');
      return;
    }
    // Not awaited, because ending the sessions of lost nodes may take longer than the lease lasts.
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
    });
  }

  /**
   * Ends what lost nodes left, but only after this node has renewed its own lease steadily for as long as a lease lasts. After an outage of
   * the database every lease has run out, and the others need that long to renew theirs. Never rejects: a later beat tries again.
   */
  async #sweep(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const isDue = () => {
      const at = clock.monotonic();
      return !this.#isClosed && at - this.#steadySince >= LEASE_MS && at - this.#renewedAt <= STEADY_MS;
    };
    try {
      for (const nodeId of isDue() ? await store.nodes.lapsed() : []) {
        if (!isDue()) return;
        if (nodeId === this.#node.id) continue;
        const sessions = await store.nodes.endSessionsOf(nodeId, clock.now());
        logger.warn({ nodeId, sessions: sessions.length }, 'node lost: its sessions are ended');
      }
    } catch (error) {
      logger.debug({ err: error }, 'sessions of lost nodes could not be ended');
    }
  }
}

/**
 * Joins this process to the nodes that share the store, and does what is due at every heartbeat of its lease, and once it has regained a
 * lease that had run out.
 */
import type { ServiceNode } from '#domain/node.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import { NodeLease } from './node-lease.ts';
import type { PublisherClaims } from './publisher-claims.ts';
import { TAKEOVER_SILENCE_MS } from './publishers.ts';
import type { SessionRegistry } from './session-registry.ts';

/** The options of {@link joinCluster}. */
export interface ClusterOptions {
  readonly store: Store;
  readonly node: ServiceNode;
  readonly registry: SessionRegistry;
  readonly claims: PublisherClaims;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Joins the other nodes. Call it before sessions are resumed. Disposing the result leaves them. */
export function joinCluster({ store, node, registry, claims, clock, logger }: ClusterOptions): Promise<NodeLease> {
  return NodeLease.take({
    store,
    node,
    clock,
    logger,
    hasRunningSessions: () => registry.hasRunningSessions,
    onBeat: () => {
      registry.noteViewers();
      releaseSilent(registry, claims);
    },
    onRegained: () => {
      registry.rewrite();
      for (const streamId of registry.publishers.silences.keys()) void claims.confirm(streamId);
    },
  });
}

/**
 * Releases the streams of silent publishers, so that another node may accept a publisher in the place of one. A stream is claimed again when
 * its publisher sends again. The claim is repeated until the store answers it.
 */
function releaseSilent(registry: SessionRegistry, claims: PublisherClaims): void {
  for (const [streamId, silentMs] of registry.publishers.silences) {
    const isSilent = silentMs >= TAKEOVER_SILENCE_MS;
    if (isSilent && claims.holds(streamId)) claims.release(streamId);
    else if (!isSilent && claims.mustConfirm(streamId)) void claims.confirm(streamId);
  }
}

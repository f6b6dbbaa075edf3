/**
 * This process among those that share the store: what it does at every beat of its lease, and when it had lost it.
 */
import type { ServiceNode } from '#domain/node.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import { NodeLease } from './node-lease.ts';
import type { PublisherClaims } from './publisher-claims.ts';
import { TAKEOVER_SILENCE_MS } from './publishers.ts';
import type { SessionRegistry } from './session-registry.ts';

/** What joining takes. */
export interface ClusterOptions {
  readonly store: Store;
  readonly node: ServiceNode;
  readonly registry: SessionRegistry;
  readonly claims: PublisherClaims;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Joins the others: call it before sessions are taken up. Disposing what it gives leaves them. */
export function joinCluster({ store, node, registry, claims, clock, logger }: ClusterOptions): Promise<NodeLease> {
  return NodeLease.take({
    store,
    node,
    clock,
    logger,
    isWaitedFor: () => registry.isRunning,
    onBeat: () => {
      registry.noteViewers();
      letSilentOnesGo(registry, claims);
    },
    onRegained: () => {
      registry.rewrite();
      for (const streamId of registry.publishers.silences.keys()) void claims.confirm(streamId);
    },
  });
}

/**
 * A publisher that has fallen silent may be replaced, also at another node: its stream is free until it is heard again.
 */
function letSilentOnesGo(registry: SessionRegistry, claims: PublisherClaims): void {
  for (const [streamId, silentForMs] of registry.publishers.silences) {
    const isSilent = silentForMs >= TAKEOVER_SILENCE_MS;
    if (isSilent && claims.holds(streamId)) claims.release(streamId);
    else if (!isSilent && !claims.holds(streamId)) void claims.confirm(streamId);
  }
}

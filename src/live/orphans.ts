/**
 * Takes up the sessions that an earlier process left behind: those whose publisher may still come back wait for it,
 * the others are ended.
 */
import type { NodeId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import type { SessionJournal } from './session-journal.ts';
import type { SessionRegistry } from './session-registry.ts';

/** What is needed to take sessions up. */
export interface OrphansOptions {
  readonly store: Store;
  /** This process: only its own sessions are taken up. */
  readonly nodeId: NodeId;
  readonly registry: SessionRegistry;
  readonly journal: SessionJournal;
  readonly clock: Clock;
  readonly reconnectWindowS: number;
}

/**
 * Call once, before anyone can publish. One that was still starting may have been live for a moment that was never written
 * down, so it waits like the others.
 *
 * The restart counter is written before the session is shown again, so that two lives of a session never share numbers,
 * also when this process is killed in between.
 */
export async function adoptOrphans({
  store,
  nodeId,
  registry,
  journal,
  clock,
  reconnectWindowS,
}: OrphansOptions): Promise<void> {
  const now = clock.now();
  for (const session of await store.sessions.ofNode(nodeId, ['starting', 'live', 'reconnecting'])) {
    journal.activity(session.streamId, { isActive: false, lastSeen: session.lastSeen, health: undefined });
    const until = session.reconnectUntil ?? ms(now + reconnectWindowS * 1000);
    if (until <= now) {
      journal.changed(session, {
        phase: 'ended',
        endedAt: now,
        endReason: 'reconnect_window_elapsed',
        reconnectUntil: undefined,
      });
      continue;
    }
    const adopted: Session = {
      ...session,
      phase: 'reconnecting',
      reconnectUntil: until,
      restarts: session.restarts + 1,
    };
    const change = { phase: adopted.phase, reconnectUntil: until, restarts: adopted.restarts };
    // Another node may have ended it between the two calls.
    const isOurs = await store.sessions.change(session.id, change, store.isShared ? nodeId : undefined);
    if (isOurs) registry.restore(adopted, { phase: 'reconnecting', until });
  }
}

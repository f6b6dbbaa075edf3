/**
 * Resumes the sessions that an earlier process left behind: those whose publisher may still come back wait for it, and the others are
 * ended.
 */
import type { AssetId, NodeId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import type { SessionJournal } from './session-journal.ts';
import type { SessionRegistry } from './session-registry.ts';

/**
 * How long a process may have been away, in addition to the reconnect window, for its sessions to be resumed. A session that was left
 * earlier may come from a database that was restored from a backup, and may have ended long ago, with its recording.
 */
const LONGEST_AWAY_MS = 3_600_000;

/** The options of {@link adoptOrphans}. */
export interface OrphansOptions {
  readonly store: Store;
  /** The node of this process. Only its own sessions are resumed. */
  readonly nodeId: NodeId;
  readonly registry: SessionRegistry;
  readonly journal: SessionJournal;
  readonly clock: Clock;
  readonly reconnectWindowS: number;
}

/**
 * Resumes the sessions, and sets streams idle that were active but have no session. Call this once, before anyone can publish. A session is
 * stored when its first part exists, so every stored session that has not ended waits for its publisher, whatever its stored phase is.
 *
 * The restart counter is written before the session is shown again, so that two processes never use the same numbers for a session, even if
 * this process is killed in between.
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
  const left = await store.sessions.ofNode(nodeId, ['starting', 'live', 'reconnecting']);
  const streamIds = new Set(left.map(({ streamId }) => streamId));
  const writer = store.isShared ? nodeId : undefined;
  for (const { id, lastSeen } of await store.streams.active(writer)) {
    // The earlier process was killed after media had come in, and before the session was stored.
    if (!streamIds.has(id))
      await store.streams.setActivity(id, { isActive: false, lastSeen, health: undefined }, writer);
  }
  const assets = await store.assets.getMany(left.map(({ id }) => id as string as AssetId));
  const recorded = new Set<string>(assets.filter(({ fromMs }) => fromMs !== undefined).map(({ id }) => id));
  for (const session of left) {
    journal.activity(session.streamId, { isActive: false, lastSeen: session.lastSeen, health: undefined });
    const until = session.reconnectUntil ?? ms(now + reconnectWindowS * 1000);
    const isLeftLongAgo = now - session.lastSeen > reconnectWindowS * 1000 + LONGEST_AWAY_MS;
    if (until <= now || isLeftLongAgo) {
      journal.changed(session, {
        phase: 'ended',
        endedAt: isLeftLongAgo ? ms(Math.max(session.createdAt, session.lastSeen)) : now,
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
    // Another node may have ended the session between the two calls.
    const isOurs = await store.sessions.change(session.id, change, writer);
    if (!isOurs) continue;
    registry.restore(adopted, { phase: 'reconnecting', until }, { isRecorded: recorded.has(session.id) });
  }
}

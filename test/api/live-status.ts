/**
 * A complete status of a running session for tests, so that a test states only what it is about.
 */
import { newSessionId } from '#domain/ids.ts';
import { NO_TOTALS } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import type { LiveStatus } from '#live/live.ts';

/** A session that is live. */
export function someStatus(change: Partial<LiveStatus> = {}): LiveStatus {
  return {
    sessionId: newSessionId(),
    phase: 'live',
    isActive: true,
    lastSeen: ms(0),
    totals: NO_TOTALS,
    ingestRate: 0,
    outgoingRate: 0,
    viewers: 0,
    viewersOf: () => 0,
    health: undefined,
    ...change,
  };
}

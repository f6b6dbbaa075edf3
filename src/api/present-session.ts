/**
 * A session as the owner of its stream sees it. What is not named here is never shown: nothing of it is secret.
 */
import type { Static } from 'typebox';
import type { Session } from '#domain/session.ts';
import type { LiveDirectory } from '#live/live.ts';
import { presentHealth } from './present-health.ts';
import type { SessionSchema } from './schemas/session.ts';

/** What runs here is fresher than what is stored; what runs elsewhere is told by the store. */
export function presentSession(session: Session, live: LiveDirectory): Static<typeof SessionSchema> {
  const status = live.sessionStatus(session.id);
  const phase = status?.phase ?? session.phase;
  const lastSeen = Math.max(status?.lastSeen ?? 0, session.lastSeen);
  const { sourceSegmentsDuration, transcodedSegmentsDuration, ...totals } = status?.totals ?? session.totals;
  // By the wall clock, which may have been set back meanwhile.
  const end = Math.max(session.endedAt ?? lastSeen, session.createdAt);
  return {
    id: session.id,
    kind: 'session',
    parentId: session.streamId,
    playbackId: session.playbackId,
    name: session.name,
    userId: session.userId,
    createdAt: session.createdAt,
    lastSeen,
    phase,
    isActive: status?.isActive ?? phase === 'live',
    ...(session.endedAt !== undefined && { endedAt: session.endedAt }),
    ...(session.endReason !== undefined && { endReason: session.endReason }),
    duration: (end - session.createdAt) / 1000,
    codecs: session.codecs === '' ? [] : session.codecs.split(','),
    profiles: session.profiles as Session['profiles'][number][],
    record: session.record,
    ...(session.record && { recordingStatus: 'none' }),
    ...totals,
    sourceSegmentsDuration: milliseconds(sourceSegmentsDuration),
    transcodedSegmentsDuration: milliseconds(transcodedSegmentsDuration),
    viewers: status?.viewers ?? session.viewers,
    ...presentHealth(status, session),
  };
}

/** Seconds without the noise of adding many. */
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

/**
 * Presents a session to the owner of its stream. Only the fields named in this file are shown.
 */
import type { Static } from 'typebox';
import type { Session } from '#domain/session.ts';
import type { LiveDirectory } from '#live/live.ts';
import { presentHealth } from './present-health.ts';
import type { SessionSchema } from './schemas/session.ts';

/** Presents a session. For one that runs on this node, the state in memory is used, because it is newer than the store. */
export function presentSession(session: Session, live: LiveDirectory): Static<typeof SessionSchema> {
  const status = live.sessionStatus(session.id);
  const phase = status?.phase ?? session.phase;
  const lastSeen = Math.max(status?.lastSeen ?? 0, session.lastSeen);
  const { sourceSegmentsDuration, transcodedSegmentsDuration, ...totals } = status?.totals ?? session.totals;
  // The wall clock may have been set back in the meantime.
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

/** Rounds seconds to milliseconds, which removes the rounding errors of long sums. */
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

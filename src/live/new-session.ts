/**
 * Makes the record of a new session.
 */
import { isDeepStrictEqual } from 'node:util';
import { type NodeId, newMediaPath, newSessionId } from '#domain/ids.ts';
import { NO_TOTALS, type Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { Milliseconds } from '#lib/units.ts';

/**
 * Makes a session of a stream whose publisher has just begun.
 * @param nodeId the node it runs on
 * @param at the wall-clock time at which it begins
 */
export function newSession(stream: Stream, nodeId: NodeId, at: Milliseconds): Session {
  return {
    id: newSessionId(),
    streamId: stream.id,
    userId: stream.userId,
    playbackId: stream.playbackId,
    name: stream.name,
    createdByTokenName: stream.createdByTokenName,
    profiles: stream.profiles,
    phase: 'starting',
    createdAt: at,
    lastSeen: at,
    reconnectUntil: undefined,
    endedAt: undefined,
    endReason: undefined,
    mediaPath: newMediaPath(),
    restarts: 0,
    nodeId,
    record: stream.record,
    recordingPath: stream.record ? newMediaPath() : undefined,
    terminations: stream.terminations,
    totals: NO_TOTALS,
    viewers: 0,
    health: undefined,
    codecs: '',
  };
}

/** Whether the settings that a session keeps to its end are still those of its stream. */
export function isMadeFor(stream: Stream, session: Pick<Session, 'record' | 'profiles'>): boolean {
  return session.record === stream.record && isDeepStrictEqual(session.profiles, stream.profiles);
}

/** Whether the stream was terminated after the session began, so that the session must end and no publisher may continue it. */
export function isTerminated(stream: Stream, session: Pick<Session, 'terminations'>): boolean {
  return session.terminations < stream.terminations;
}

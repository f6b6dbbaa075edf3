/**
 * Presents sessions to the owner of their stream. Only the fields named in this file are shown.
 */

import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Asset } from '#domain/asset.ts';
import type { AssetId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { RouteContext } from './api.ts';
import { asOfNow } from './present-asset.ts';
import { presentHealth } from './present-health.ts';
import { downloadUrl, recordingPlaylistUrl } from './recording-urls.ts';
import type { RecordingStatus, SessionSchema } from './schemas/session.ts';

/**
 * Presents sessions with their recordings, all of which one call of the store reads. The state of a session that runs on this node is taken
 * from memory, because it is newer than the store.
 */
export async function presentSessions(
  sessions: readonly Session[],
  { store, live, recordings, publicUrl }: Pick<RouteContext, 'store' | 'live' | 'recordings' | 'publicUrl'>,
  request: FastifyRequest,
): Promise<Static<typeof SessionSchema>[]> {
  const recorded = sessions.filter(({ recordingPath }) => recordingPath !== undefined);
  const assets = await store.assets.getMany(
    recorded.map(({ id }) => id as string as AssetId),
    'all',
  );
  const byId = new Map<string, Asset>(assets.map((asset) => [asset.id, asset]));
  return sessions.map((session) => {
    const asset = byId.get(session.id);
    const recording = asset === undefined ? undefined : asOfNow(asset, recordings);
    return { ...present(session, live), ...recordingFields(session, recording, () => publicUrl(request)) };
  });
}

/** The fields about the recording. They are absent without `record`. */
function recordingFields({ record, recordingPath }: Session, recording: Asset | undefined, publicUrl: () => string) {
  if (!record) return {};
  // A session from a version that did not record has no path.
  if (recordingPath === undefined) return { recordingStatus: 'none' } as const;
  const recordingStatus = statusOf(recording);
  if (recording === undefined || (recordingStatus !== 'waiting' && recordingStatus !== 'ready'))
    return { recordingStatus };
  const origin = publicUrl();
  return {
    recordingStatus,
    assetId: recording.id,
    recordingUrl: recordingPlaylistUrl(origin, recording),
    mp4Url: downloadUrl(origin, recording),
  };
}

/** The status of a recording. The row of one that was deleted long ago is forgotten. */
function statusOf(recording: Asset | undefined): RecordingStatus {
  switch (recording?.phase) {
    case 'recording':
    case 'storing':
      return 'waiting';
    case 'ready':
    case 'failed':
      return recording.phase;
    default:
      return 'deleted';
  }
}

function present(session: Session, live: LiveDirectory): Static<typeof SessionSchema> {
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

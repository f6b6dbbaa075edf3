/**
 * Records as clients see them. What is not named here is never shown.
 */
import type { Static } from 'typebox';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { LiveDirectory } from '#live/live.ts';
import { presentHealth } from './present-health.ts';
import type { PlaybackSchema } from './schemas/playback.ts';
import type { StreamSchema } from './schemas/stream.ts';

const NO_TARGETS = { targets: [] };

/** A stream, to its owner only: it holds the stream key. What runs here is fresher than what is stored. */
export function presentStream(stream: Stream, live: LiveDirectory): Static<typeof StreamSchema> {
  const status = live.status(stream.id);
  return {
    id: stream.id,
    kind: 'stream',
    name: stream.name,
    userId: stream.userId,
    createdAt: stream.createdAt,
    streamKey: stream.streamKey.reveal(),
    playbackId: stream.playbackId,
    createdByTokenName: stream.createdByTokenName,
    profiles: stream.profiles as Stream['profiles'][number][],
    isActive: status?.isActive ?? stream.isActive,
    lastSeen: status ? Math.max(status.lastSeen, stream.lastSeen) : stream.lastSeen,
    suspended: stream.suspended,
    record: false,
    multistream: NO_TARGETS,
    ...presentHealth(status),
  };
}

/** A session, in the form of a stream with a parent. */
export function presentSession(session: Session, live: LiveDirectory): Static<typeof StreamSchema> {
  const status = live.sessionStatus(session.id);
  return {
    id: session.id,
    kind: 'stream',
    name: session.name,
    userId: session.userId,
    createdAt: session.createdAt,
    playbackId: session.playbackId,
    createdByTokenName: session.createdByTokenName,
    profiles: session.profiles as Session['profiles'][number][],
    parentId: session.streamId,
    isActive: status?.isActive ?? session.phase === 'live',
    lastSeen: status ? Math.max(status.lastSeen, session.lastSeen) : session.lastSeen,
    suspended: false,
    record: false,
    multistream: NO_TARGETS,
    ...presentHealth(status),
  };
}

/** How to play a stream, to anybody who knows its playback id. */
export function presentPlayback(stream: Stream, live: LiveDirectory, publicUrl: string): Static<typeof PlaybackSchema> {
  const isActive = live.status(stream.id)?.isActive ?? stream.isActive;
  const base = `${publicUrl}/hls/${stream.playbackId}`;
  const hasThumbnail = live.watch(stream.playbackId)?.thumbnail !== undefined;
  return {
    type: 'live',
    meta: {
      live: isActive ? 1 : 0,
      // Clients of the reference service know this name only; the segments are fragmented MP4 all the same.
      source: [
        {
          hrn: 'HLS (TS)',
          type: 'html5/application/vnd.apple.mpegurl',
          url: `${base}/index.m3u8`,
        },
        ...(hasThumbnail ? [{ hrn: 'Thumbnail (JPEG)', type: 'image/jpeg', url: `${base}/thumbnail.jpg` }] : []),
      ],
    },
  };
}

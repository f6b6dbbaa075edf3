/**
 * The contract of `live`: what the API and the origin may ask about sessions that run in this process.
 */

import type { SessionHealth } from '#domain/health.ts';
import type { HealthSample } from '#domain/health-sample.ts';
import type { MediaPath, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { SessionPhase, SessionTotals } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { ReportedViewer, Viewer, ViewerQuota } from './viewers.ts';

/** The present state of a session. It is newer than the store, which may be slow. */
export interface LiveStatus {
  readonly sessionId: SessionId;
  readonly phase: SessionPhase;
  /** Whether media is being received: from the first media packet until the publisher stops or is lost. */
  readonly isActive: boolean;
  readonly lastSeen: Milliseconds;
  /** The media received and made so far. */
  readonly totals: SessionTotals;
  /** The measured rate of received media, in bytes per second. 0 while none is received. */
  readonly ingestRate: number;
  /** The measured rate of the transcoded renditions, in bytes per second. */
  readonly outgoingRate: number;
  /** The present number of viewers. */
  readonly viewers: number;
  /** The present number of viewers of a rendition whom this node serves. */
  readonly viewersOf: (rendition: string) => number;
  /** Computes the session's health. Undefined while no media is received. */
  readonly health: (() => SessionHealth) | undefined;
}

/** A session that can be watched. */
export interface Watchable {
  readonly mediaPath: MediaPath;
  readonly phase: SessionPhase;
  readonly presentation: Presentation;
  /** The newest frame as a JPEG, whose bytes never change. Undefined when nothing is transcoded, and before the first frame. */
  readonly thumbnail: Uint8Array | undefined;
}

/** The fields of a stream that playback rights depend on. */
export type WatchedStream = Pick<Stream, 'id' | 'userId' | 'playbackPolicy'>;

/** The same fields of a stream of this process, and those that decide on the title of its player page. */
export type WatchedHere = WatchedStream & Pick<Stream, 'name' | 'suspended'>;

/** The part of a user's quotas that its sessions use on this server at the moment. */
export interface LiveUsage {
  readonly publishers: number;
  /** The number of sessions that are being transcoded. */
  readonly transcodes: number;
  /** The media memory in bytes. */
  readonly mediaMemoryBytes: number;
  /** The number of viewers served by this server, including those of streams that run on others. */
  readonly viewers: number;
}

/** Finds the sessions of this process. */
export interface LiveDirectory {
  /** The status of a stream's session. Undefined when no session of the stream runs in this process. */
  status(streamId: StreamId): LiveStatus | undefined;
  /** The status of a session by its own id. */
  sessionStatus(sessionId: SessionId): LiveStatus | undefined;
  /** The session that a playback id shows: the running one, or the one that ended last while its media can still be fetched. */
  watch(playbackId: PlaybackId): Watchable | undefined;
  /** The same by a session's own path, so that the last segments of an older session stay fetchable beside a new one. */
  watchPath(playbackId: PlaybackId, path: MediaPath): Watchable | undefined;
  /**
   * The stream of a session that runs in this process, or has ended and can still be watched. It was read within a second of a change, or
   * within five if the announcement was lost. Undefined for any other stream, and until it was read for the first time.
   */
  watchedStream(playbackId: PlaybackId): WatchedHere | undefined;
  /** The present number of viewers on this node. If the stream runs on this node, those of other nodes are included. */
  viewers(playbackId: PlaybackId): number;
  /** How much of a user's live quotas is used now. */
  usageOf(userId: UserId): LiveUsage;
  /** The samples of a session's last 15 minutes, the oldest first. Undefined when the session is not in this process. */
  samples(sessionId: SessionId): readonly HealthSample[] | undefined;
}

/** Counts viewers and delivered bytes, which `origin` reports. */
export interface Audience {
  /**
   * Notes a playlist request.
   * @param quota the quota of the stream's user; left out if the stream runs on this node, which then knows it
   * @param viewOf the stream for whose usage this node counts a view if the viewer is new. If it is left out, the node to which the viewer is
   *   reported counts the view. If `quota` is left out, too, this node counts it
   * @returns false when the viewer is new and no place can be found for it
   */
  watched(playbackId: PlaybackId, viewer: Viewer, quota?: ViewerQuota, viewOf?: PlaybackId): boolean;
  /** Notes that another node has served these viewers of a stream, and counts the views of those that are new. */
  watchedElsewhere(playbackId: PlaybackId, viewers: readonly ReportedViewer[]): void;
  /**
   * Hands out the viewers that are to be reported to the stream's own node: those that it does not know yet, and those last reported some
   * seconds ago. Each is handed out once.
   */
  takeUnreported(playbackId: PlaybackId, atMost: number): readonly ReportedViewer[];
  /** Notes that the stream's own node has received a report, and therefore has counted these views. */
  reported(playbackId: PlaybackId, viewers: readonly ReportedViewer[]): void;
  /**
   * Notes that media was sent to a viewer or a cache.
   * @param watchedMs the duration of the media if it is from a recording. For live streams, the time of the present viewers counts instead
   */
  delivered(playbackId: PlaybackId, sizeBytes: number, watchedMs?: number): void;
}

/**
 * The contract of `live`: what the API and the origin may ask about sessions running in this process.
 */

import type { SessionHealth } from '#domain/health.ts';
import type { MediaPath, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { SessionPhase, SessionTotals } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Viewer, ViewerQuota } from './viewers.ts';

/** How a session stands right now; fresher than the store, which may be slow. */
export interface LiveStatus {
  readonly sessionId: SessionId;
  readonly phase: SessionPhase;
  /** Media is coming in: true from the first media packet until the publisher stops or is lost. */
  readonly isActive: boolean;
  readonly lastSeen: Milliseconds;
  /** What it took in and put out so far. */
  readonly totals: SessionTotals;
  /** Media coming in, in bytes a second, measured; 0 while none does. */
  readonly ingestRate: number;
  /** What is made of it for its profiles, the same way. */
  readonly outgoingRate: number;
  /** Viewers now. */
  readonly viewers: number;
  /** How the session is doing, worked out when it is asked for; undefined while no media is coming in. */
  readonly health: (() => SessionHealth) | undefined;
}

/** A session that can be watched. */
export interface Watchable {
  readonly mediaPath: MediaPath;
  readonly phase: SessionPhase;
  readonly presentation: Presentation;
  /** The newest picture as a JPEG, whose bytes never change; undefined where nothing is transcoded, and before the first. */
  readonly thumbnail: Uint8Array | undefined;
}

/** What decides who may watch a stream. */
export type WatchedStream = Pick<Stream, 'id' | 'userId' | 'playbackPolicy'>;

/** What of its quotas the sessions of a user take on this server at the moment. */
export interface LiveUsage {
  readonly publishers: number;
  /** Sessions that are being transcoded. */
  readonly transcodes: number;
  /** Media memory, in bytes. */
  readonly mediaMemoryBytes: number;
  /** Viewers served by this server, also of streams that run on others. */
  readonly viewers: number;
}

/** Finds what runs here. */
export interface LiveDirectory {
  /** By stream id; undefined when no session of the stream runs here. */
  status(streamId: StreamId): LiveStatus | undefined;
  /** By session id, for the session's own object. */
  sessionStatus(sessionId: SessionId): LiveStatus | undefined;
  /** What a playback id shows now: the running session, or the one that ended last while its media can still be fetched. */
  watch(playbackId: PlaybackId): Watchable | undefined;
  /** The same by a session's own path, so that an older session's last segments stay fetchable beside a new one. */
  watchPath(playbackId: PlaybackId, path: MediaPath): Watchable | undefined;
  /**
   * The stream of a session that runs here, or has ended and can still be watched, as it was read last: within a second of a change, or of
   * five where its announcement was lost. Undefined for any other stream, and until it was read for the first time.
   */
  watchedStream(playbackId: PlaybackId): WatchedStream | undefined;
  /** How many viewers watch it now at this node; where the stream runs here, those of the other nodes are included. */
  viewers(playbackId: PlaybackId): number;
  usageOf(userId: UserId): LiveUsage;
}

/** Is told who watches. */
export interface Audience {
  /**
   * Notes a playlist request.
   * @param quota of the stream's user; left out where the stream runs here, because this node then knows it
   * @returns false when the viewer is new and no place can be found for it
   */
  watched(playbackId: PlaybackId, viewer: Viewer, quota?: ViewerQuota): boolean;
  /** Notes that another node has served these viewers of a stream. */
  watchedElsewhere(playbackId: PlaybackId, names: readonly string[]): void;
  /** Hands out, once each, the names of viewers that the stream's own node has not heard of yet, or not for some seconds. */
  takeUntold(playbackId: PlaybackId, atMost: number): readonly string[];
}

/**
 * Answers questions of the API and the origin about the sessions of this process, and notes who watches them.
 */
import type { HealthSample } from '#domain/health-sample.ts';
import type { MediaPath, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import type { MediaMemory } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';
import type { Audience, LiveDirectory, LiveStatus, LiveUsage, Watchable, WatchedHere } from './live.ts';
import type { LiveSession } from './live-session.ts';
import type { Publishers } from './publishers.ts';
import type { SessionIndex } from './session-index.ts';
import type { UsageBook } from './usage-book.ts';
import type { ReportedViewer, Viewer, ViewerQuota, Viewers } from './viewers.ts';

/** The options of a directory. */
export interface SessionDirectoryOptions {
  readonly sessions: SessionIndex;
  readonly publishers: Publishers;
  readonly viewers: Viewers;
  readonly memory: MediaMemory;
  readonly usage: UsageBook;
  readonly clock: Clock;
  /** Whether other processes share the store, so that a stream whose session has ended may run on another node. */
  readonly isShared: boolean;
  readonly quotasOf: (userId: UserId) => Quotas;
  /** The stream as it was last read. Undefined until it was read. */
  readonly streamOf: (streamId: StreamId) => WatchedHere | undefined;
}

/** Finds the sessions of this process. */
export class SessionDirectory implements LiveDirectory, Audience {
  readonly #options: SessionDirectoryOptions;

  constructor(options: SessionDirectoryOptions) {
    this.#options = options;
  }

  status(streamId: StreamId): LiveStatus | undefined {
    const { sessions, publishers, isShared } = this.#options;
    const session = sessions.ofStream(streamId);
    if (session === undefined) return undefined;
    // A stream whose session has ended may continue on another node. The store knows.
    const isOver = session.state.phase === 'ended' && !publishers.has(streamId);
    return isShared && isOver ? undefined : this.#statusOf(session);
  }

  sessionStatus(sessionId: SessionId): LiveStatus | undefined {
    const session = this.#options.sessions.byId(sessionId);
    return session === undefined ? undefined : this.#statusOf(session);
  }

  watch(playbackId: PlaybackId): Watchable | undefined {
    return watchable(this.#options.sessions.newestOf(playbackId));
  }

  watchPath(playbackId: PlaybackId, path: MediaPath): Watchable | undefined {
    const session = this.#options.sessions.byPath(path);
    return session?.record.playbackId === playbackId ? watchable(session) : undefined;
  }

  watchedStream(playbackId: PlaybackId): WatchedHere | undefined {
    const session = this.#options.sessions.newestOf(playbackId);
    return session && this.#options.streamOf(session.record.streamId);
  }

  viewers(playbackId: PlaybackId): number {
    return this.#options.viewers.countOf(playbackId);
  }

  usageOf(userId: UserId): LiveUsage {
    const { sessions, publishers, memory, viewers } = this.#options;
    let transcodes = 0;
    for (const { record, isTranscoding } of sessions.all) {
      if (record.userId === userId && isTranscoding) transcodes++;
    }
    return {
      publishers: publishers.countOf(userId),
      transcodes,
      mediaMemoryBytes: memory.usedBy(userId),
      viewers: viewers.countOfUser(userId),
    };
  }

  watched(playbackId: PlaybackId, viewer: Viewer, quota?: ViewerQuota, viewOf?: PlaybackId): boolean {
    const { sessions, viewers } = this.#options;
    const session = sessions.newestOf(playbackId);
    const counted = quota ?? this.#viewerQuotaOf(session);
    if (counted === undefined) return true;
    // The node on which the stream runs when the viewer comes counts the view. No node counts it again when the stream moves.
    const countedFor = quota === undefined ? playbackId : viewOf;
    const noted = viewers.note(playbackId, viewer, counted, countedFor !== undefined);
    if (noted === 'refused') return false;
    if (noted === 'began' && countedFor !== undefined) this.#countViews(countedFor, 1);
    session?.watchedBy(viewers.countOf(playbackId));
    return true;
  }

  watchedElsewhere(playbackId: PlaybackId, reported: readonly ReportedViewer[]): void {
    const { sessions, viewers } = this.#options;
    const views = viewers.noteElsewhere(playbackId, reported);
    if (views > 0) this.#countViews(playbackId, views);
    sessions.newestOf(playbackId)?.watchedBy(viewers.countOf(playbackId));
  }

  takeUnreported(playbackId: PlaybackId, atMost: number): readonly ReportedViewer[] {
    return this.#options.viewers.takeUnreported(playbackId, atMost);
  }

  reported(playbackId: PlaybackId, viewers: readonly ReportedViewer[]): void {
    this.#options.viewers.reported(playbackId, viewers);
  }

  delivered(playbackId: PlaybackId, sizeBytes: number, watchedMs = 0): void {
    const { usage, clock } = this.#options;
    usage.count(playbackId, { deliveredBytes: sizeBytes, watchedMs }, clock.now());
  }

  samples(sessionId: SessionId): readonly HealthSample[] | undefined {
    return this.#options.sessions.byId(sessionId)?.samples;
  }

  /** Whether media of a session is being received. */
  isActive(session: LiveSession): boolean {
    const { streamId } = session.record;
    return this.#options.sessions.ofStream(streamId) === session && this.#options.publishers.isActive(streamId);
  }

  #countViews(playbackId: PlaybackId, views: number): void {
    const { usage, clock } = this.#options;
    usage.count(playbackId, { views }, clock.now());
  }

  #statusOf(session: LiveSession): LiveStatus {
    const isActive = this.isActive(session);
    const { record, state, lastSeen, totals, rates } = session;
    return {
      sessionId: record.id,
      phase: state.phase,
      isActive,
      lastSeen,
      totals,
      ingestRate: isActive ? rates.ingest : 0,
      outgoingRate: isActive ? rates.outgoing : 0,
      viewers: this.viewers(record.playbackId),
      viewersOf: (rendition) => this.#options.viewers.countOfRendition(record.playbackId, rendition),
      health: isActive ? () => session.health : undefined,
    };
  }

  /** The quota that viewers of a session count against. Undefined without a session, which cannot be watched on this node. */
  #viewerQuotaOf(session: LiveSession | undefined): ViewerQuota | undefined {
    if (session === undefined) return undefined;
    const { userId } = session.record;
    return { ofUser: userId, atMost: this.#options.quotasOf(userId).viewers };
  }
}

/** A session that ended before its first part has nothing to show. */
function watchable(session: LiveSession | undefined): Watchable | undefined {
  if (session === undefined || (session.state.phase === 'ended' && !session.hasPlayed)) return undefined;
  const { record, state, presentation, thumbnail } = session;
  return { mediaPath: record.mediaPath, phase: state.phase, presentation, thumbnail };
}

/**
 * The sessions and publishers of this process.
 */
import { isHealthy } from '#domain/health.ts';
import type { NodeId, StreamId, UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import { SESSION_PHASES, type Session, type SessionState } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import {
  fetchableS,
  type MediaMemory,
  type MemoryUser,
  type Presentation,
  type PresentationOptions,
} from '#hls/hls.ts';
import type { Announcement, PublicationEnd, PublishDecision, PublishRequest, Refusal } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { MIB, ms } from '#lib/units.ts';
import type { Track, TrackId } from '#media/track.ts';
import type { Recorders, RecordingExtent } from '#recording/recording.ts';
import type { InternalErrors } from '#telemetry/internal-errors.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { type DisconnectReason, endsPlayback } from './disconnects.ts';
import { guarded, guardWith } from './guard.ts';
import { Intake } from './intake.ts';
import { LEAD_IN_MS, LiveSession } from './live-session.ts';
import { isMadeFor, isTerminated, newSession } from './new-session.ts';
import { Publishers } from './publishers.ts';
import { Retirements } from './retirements.ts';
import { SessionDirectory } from './session-directory.ts';
import { SessionIndex } from './session-index.ts';
import type { SessionJournal } from './session-journal.ts';
import { SessionNotes } from './session-notes.ts';
import { codecsOf, selectTracks } from './track-selection.ts';
import type { OpenTranscoder, TranscoderOwner } from './transcoded-renditions.ts';
import { UsageBook } from './usage-book.ts';
import { Viewers } from './viewers.ts';

/** The distance of media sequence numbers between two restarts of a session: as many as there are segments of two seconds in six years. */
const MEDIA_SEQUENCES_PER_RESTART = 100_000_000;
/** The same for discontinuity numbers. It must be smaller, because ExoPlayer reads these numbers as integers of 32 bits. */
const DISCONTINUITIES_PER_RESTART = 1_000_000;

/** The options of the registry. */
export interface SessionRegistryOptions {
  readonly settings: {
    readonly maxPublishers: number;
    readonly reconnectWindowS: number;
    readonly targetDurationS: number;
    readonly windowS: number;
    readonly maxViewers: number;
    /** The quotas of users who have none of their own. */
    readonly quotas: Quotas;
  };
  /** The node of this process. */
  readonly nodeId: NodeId;
  /** Whether other processes may share the store. They read the stored state of sessions. */
  readonly isShared: boolean;
  readonly createPresentation: (options: PresentationOptions) => Presentation;
  readonly openTranscoder: OpenTranscoder;
  readonly memory: MediaMemory;
  readonly recorders: Pick<Recorders, 'begin'>;
  /** Called when the end of a session's recording is durable. */
  readonly onRecorded?: (session: Session, extent: RecordingExtent) => void;
  readonly journal: SessionJournal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly errors: InternalErrors;
  /** Called when the last publisher of a stream has gone. */
  readonly onPublisherGone?: (streamId: StreamId) => void;
}

/** The sessions of one process. */
export class SessionRegistry implements AsyncDisposable {
  /** Answers questions of the API and the origin. */
  readonly directory: SessionDirectory;
  /** Counts the usage of streams. */
  readonly usage = new UsageBook();
  readonly #options: SessionRegistryOptions;
  readonly #publishers: Publishers;
  readonly #sessions = new SessionIndex();
  readonly #viewers: Viewers;
  readonly #notes: SessionNotes;
  readonly #retirements: Retirements;
  /** The streams that have a publisher or a session in this process, as they were last read. */
  readonly #streams = new Map<StreamId, Stream>();
  /** The quotas of users that have a publisher or a session in this process, as they were last read. */
  readonly #quotas = new Map<UserId, Quotas>();
  #closing = false;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    const { metrics, memory, settings, clock, errors, isShared } = options;
    this.#publishers = new Publishers(settings.maxPublishers);
    this.#viewers = new Viewers(settings.maxViewers, clock);
    this.#notes = new SessionNotes(options);
    const [sessions, publishers, viewers] = [this.#sessions, this.#publishers, this.#viewers];
    const quotasOf = (userId: UserId) => this.quotasOfUser(userId);
    const streamOf = (streamId: StreamId) => this.#streams.get(streamId);
    this.directory = new SessionDirectory({
      sessions,
      publishers,
      viewers,
      memory,
      usage: this.usage,
      clock,
      isShared,
      quotasOf,
      streamOf,
    });
    this.#retirements = new Retirements(fetchableS(settings) * 1000, (session) => this.#retire(session), errors);
    metrics.viewers.observe({}, () => viewers.count);
    metrics.publishers.observe({}, () => publishers.count);
    metrics.mediaMemory.observe({}, () => memory.usedBytes);
    metrics.unhealthySessions.observe({}, () => this.#countUnhealthy());
    for (const phase of SESSION_PHASES) metrics.sessions.observe({ phase }, () => sessions.count(phase));
  }

  /** Accepts a publisher whose key is valid, or refuses it. @param quotas the quotas of the stream's user */
  publish(stream: Stream, request: PublishRequest, quotas: Quotas): PublishDecision {
    const refusal = this.refusalOf(stream, quotas);
    if (refusal !== undefined) return { accepted: false, refusal };
    const { clock, memory, errors } = this.#options;
    this.#quotas.set(stream.userId, quotas);
    const quotasNow = () => this.quotasOfUser(stream.userId);
    const disconnectIntake = (reason: DisconnectReason) => this.#disconnectIntake(stream.id, intake, reason);
    const guard = guardWith((where, error) => {
      errors.note(where, error);
      try {
        disconnectIntake('internal_error');
      } catch (another) {
        errors.note(where, another);
      }
    });
    const intake = new Intake(
      {
        get bitrateLimitKbps() {
          return quotasNow().ingestBitrateKbps;
        },
        onTooFast: () => disconnectIntake('ingest_bitrate_exceeded'),
        openAccount: () =>
          memory.open(this.#memoryUser(stream.userId), {
            giveBackRetired: () => false,
            giveUp: () => guard('session', () => disconnectIntake('media_memory_exhausted')),
          }),
        guard: (work) => guard('ingest', work),
        onMedia: () => this.#notes.activity(this.#runningSession(stream), true),
        open: (tracks, announcement) => this.#open(stream, tracks, announcement, request.encoder),
        onEnd: (reason) => this.#publisherGone(stream, intake, reason),
      },
      clock,
    );
    const { streamKey, disconnect } = request;
    this.#publishers.add(stream.id, { intake, stream, streamKey, disconnect });
    return { accepted: true, publication: guarded(guard, 'ingest', intake) };
  }

  /** Why a publisher of this stream would be refused now. Undefined when it would be accepted. @param quotas as in {@link publish} */
  refusalOf(stream: Pick<Stream, 'id' | 'userId'>, quotas: Quotas): Refusal | undefined {
    if (this.#closing) {
      const reason = 'The server is shutting down; the encoder can reconnect in a moment.';
      return { code: 'service_unavailable', reason };
    }
    const refusal = this.#publishers.refusalOf(stream, quotas.publishers);
    if (refusal !== undefined) return refusal;
    if (this.#options.memory.hasRoomFor({ id: stream.userId, quotaBytes: quotaBytesOf(quotas) })) return undefined;
    return {
      code: 'media_memory_exhausted',
      reason: 'There is no media memory left for this account; stop another stream, or try again later.',
    };
  }

  /** The quotas of a user as they were last read. The defaults when the user has nothing in this process. */
  quotasOfUser(userId: UserId): Quotas {
    return this.#quotas.get(userId) ?? this.#options.settings.quotas;
  }

  /** Replaces the quotas of a user. They apply from now on to everything of the user in this process, but end no session. */
  setQuotas(userId: UserId, quotas: Quotas): void {
    if (this.#hasAnythingOf(userId)) this.#quotas.set(userId, quotas);
  }

  /** The streams with a publisher or a session in this process, each with its user. */
  get streams(): ReadonlyMap<StreamId, UserId> {
    const streams = new Map<StreamId, UserId>(this.#publishers.streams);
    for (const { record } of this.#sessions.all) streams.set(record.streamId, record.userId);
    return streams;
  }

  /** Whether any session has not ended. */
  get hasRunningSessions(): boolean {
    return this.#sessions.count('ended') < this.#sessions.size;
  }

  /** The publishers of this process. */
  get publishers(): Pick<Publishers, 'has' | 'silences'> {
    return this.#publishers;
  }

  /**
   * Disconnects the publisher of a stream with the reason, and ends its session. For reasons that end playback, the media is discarded at
   * once. A replaced key ends only the session of a publisher that uses the old one.
   */
  disconnect(streamId: StreamId, reason: DisconnectReason): void {
    const wasPublished = this.#publishers.disconnect(streamId, reason);
    if (!wasPublished && reason !== 'key_rotated') this.#sessions.ofStream(streamId)?.end(reason);
    if (!endsPlayback(reason)) return;
    for (const session of this.#sessions.all) if (session.record.streamId === streamId) this.#retire(session);
  }

  /**
   * Applies a change of a stream. A publisher is disconnected when it used an earlier stream key, or was accepted before the stream was
   * terminated or its session settings changed. A session that began before the termination ends, even while it has no publisher.
   */
  follow(stream: Stream): void {
    if (this.#publishers.hasOtherKey(stream.id, stream.streamKey)) this.disconnect(stream.id, 'key_rotated');
    if (this.#publishers.isTerminated(stream) || this.#publishers.isOutdated(stream)) {
      this.disconnect(stream.id, 'terminated');
    }
    if (this.#hasAnythingOfStream(stream.id)) this.#streams.set(stream.id, stream);
    const session = this.#sessions.ofStream(stream.id);
    if (session === undefined) return;
    if (isTerminated(stream, session.record)) session.end('terminated');
    if (session.state.phase !== 'ended' && session.rename(stream.name)) this.#notes.name(session, stream.name);
  }

  /** The sessions that have not ended, and the publishers. */
  get counts(): { readonly sessions: number; readonly publishers: number } {
    return { sessions: this.#sessions.size - this.#sessions.count('ended'), publishers: this.#publishers.count };
  }

  /** All sessions, including those that ended and can still be watched. */
  get sessions(): Iterable<LiveSession> {
    return this.#sessions.all;
  }

  /** Writes the number of viewers of each session if it changed, for other nodes. */
  noteViewers(): void {
    for (const session of this.#sessions.all) {
      const viewers = this.#viewers.countOf(session.record.playbackId);
      const { phase } = session.state;
      if (phase === 'live' || phase === 'reconnecting') this.#notes.viewers(session, viewers);
    }
  }

  /** Writes the whole state of every running session again, because another node may have ended it. */
  rewrite(): void {
    for (const session of this.#sessions.all) {
      if (session.state.phase !== 'ended') this.#notes.again(session, this.directory.isActive(session));
    }
  }

  /**
   * Resumes a session that an earlier process left behind. It waits for its publisher as `state` says.
   * @param options.isRecorded whether that process has recorded media of it
   */
  restore(record: Session, state: SessionState, { isRecorded = false } = {}): void {
    this.#notes.restored(this.#addSession(record, state, isRecorded));
  }

  /** Refuses new publishers, and discards all sessions with their media. Publishers must have been disconnected before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    this.#retirements[Symbol.dispose]();
    await Promise.all(Array.from(this.#sessions.all, (session) => this.#letGo(session)));
  }

  #countUnhealthy(): number {
    let count = 0;
    for (const session of this.#sessions.all) {
      if (this.directory.isActive(session) && !isHealthy(session.warnings)) count++;
    }
    return count;
  }

  #memoryUser(userId: UserId): MemoryUser {
    const quotas = () => this.quotasOfUser(userId);
    return {
      id: userId,
      get quotaBytes() {
        return quotaBytesOf(quotas());
      },
    };
  }

  #transcoderOwner({ userId, streamId }: Session): TranscoderOwner {
    const quotas = () => this.quotasOfUser(userId);
    return {
      userId,
      streamId,
      get atMost() {
        return quotas().transcodes;
      },
    };
  }

  /** Disconnects a publisher, unless another one has taken its place. */
  #disconnectIntake(streamId: StreamId, intake: Intake, reason: DisconnectReason): void {
    if (this.#publishers.isPublisher(streamId, intake)) this.disconnect(streamId, reason);
  }

  #hasAnythingOf(userId: UserId): boolean {
    return this.#publishers.countOf(userId) > 0 || this.#sessions.hasOfUser(userId);
  }

  #hasAnythingOfStream(streamId: StreamId): boolean {
    return this.#publishers.has(streamId) || this.#sessions.ofStream(streamId) !== undefined;
  }

  /** Forgets a stream and its user if nothing of them is left in this process. */
  #forget(streamId: StreamId, userId: UserId): void {
    if (!this.#hasAnythingOfStream(streamId)) this.#streams.delete(streamId);
    if (!this.#hasAnythingOf(userId)) this.#quotas.delete(userId);
  }

  /** The session of a stream that a publisher continues, or a new one when the last one has ended. */
  #runningSession(stream: Stream): LiveSession {
    const session = this.#sessions.ofStream(stream.id);
    if (session !== undefined && session.state.phase !== 'ended') return session;
    const { nodeId, clock } = this.#options;
    return this.#addSession(newSession(stream, nodeId, clock.now()), { phase: 'starting' });
  }

  /**
   * Opens the session for a publisher whose tracks are known. It continues the waiting session only if a new one would have the same
   * settings.
   */
  #open(
    stream: Stream,
    tracks: ReadonlyMap<TrackId, Track>,
    announcement: Announcement | undefined,
    encoder: string | undefined,
  ): LiveSession {
    const waiting = this.#sessions.ofStream(stream.id);
    if (waiting !== undefined) {
      // Unknown codecs, of a process that died before it stored them, are taken to be the same.
      const hasOthers = waiting.codecs !== '' && waiting.codecs !== codecsOf(selectTracks(tracks));
      if (isTerminated(stream, waiting.record)) waiting.end('terminated');
      const isOutdated = hasOthers || !isMadeFor(stream, waiting.record);
      if (waiting.state.phase === 'reconnecting' && isOutdated) waiting.end('replaced');
    }
    const session = this.#runningSession(stream);
    session.publish(tracks, announcement, announcement?.encoder ?? encoder);
    return session;
  }

  #publisherGone({ id, userId }: Stream, intake: Intake, reason: PublicationEnd): void {
    if (this.#publishers.remove(id, intake)) this.#options.onPublisherGone?.(id);
    this.#forget(id, userId);
    const session = this.#sessions.ofStream(id);
    if (session === undefined) return;
    const disconnectedFor = this.#publishers.disconnectReasonOf(intake);
    if (reason === 'connection_lost') session.publisherLost();
    else session.end(reason === 'disconnected' ? (disconnectedFor ?? 'terminated') : 'unpublished');
    // A publisher on another node has replaced this one, and that node reports the activity.
    if (disconnectedFor !== 'replaced') this.#notes.activity(session, false);
  }

  #addSession(record: Session, state: SessionState, isRecorded = false): LiveSession {
    const { settings, clock, logger, metrics, errors, memory, createPresentation, openTranscoder } = this.#options;
    const session = new LiveSession(
      {
        record,
        createPresentation: (callbacks) =>
          createPresentation({
            ...callbacks,
            targetDurationS: settings.targetDurationS,
            windowS: settings.windowS,
            firstMediaSequence: record.restarts * MEDIA_SEQUENCES_PER_RESTART,
            firstDiscontinuitySequence: record.restarts * DISCONTINUITIES_PER_RESTART,
            epoch: ms(record.createdAt - LEAD_IN_MS),
            profiles: record.profiles,
            continued: record.restarts > 0,
            uriPrefix: record.mediaPath,
            memory,
            memoryUser: this.#memoryUser(record.userId),
          }),
        openTranscoder,
        owner: this.#transcoderOwner(record),
        targetDurationS: settings.targetDurationS,
        reconnectWindowS: settings.reconnectWindowS,
        seenEveryMs: this.#notes.everyMs,
        clock,
        logger,
        metrics,
        errors,
        isRecorded,
        beginRecording: (request) => this.#options.recorders.begin(request),
        onRecorded: (recorded, extent) => this.#options.onRecorded?.(recorded, extent),
        onState: (changed) => this.#stateChanged(changed),
        onSeen: (seen) => this.#notes.seen(seen, this.directory.isActive(seen)),
        onEndedByService: (reason) => this.disconnect(record.streamId, reason),
      },
      state,
    );
    this.#sessions.add(session);
    return session;
  }

  #stateChanged(session: LiveSession): void {
    this.#notes.state(session, this.directory.isActive(session));
    if (session.state.phase === 'ended') this.#retirements.schedule(session);
  }

  #retire(session: LiveSession): void {
    this.#retirements.cancel(session);
    this.#sessions.remove(session);
    this.#forget(session.record.streamId, session.record.userId);
    void this.#letGo(session);
  }

  async #letGo(session: LiveSession): Promise<void> {
    try {
      await session[Symbol.asyncDispose]();
      this.#notes.totals(session);
    } catch (error) {
      this.#options.errors.note('retire', error);
    }
  }
}

function quotaBytesOf({ mediaMemoryMib }: Quotas): number {
  return mediaMemoryMib === 0 ? Number.POSITIVE_INFINITY : mediaMemoryMib * MIB;
}

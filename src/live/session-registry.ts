/**
 * Every session running in this process, and who publishes to it.
 */
import type { MediaPath, NodeId, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import { SESSION_PHASES, type Session, type SessionState } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { MediaMemory, MemoryUser, Presentation, PresentationOptions } from '#hls/hls.ts';
import type { Announcement, PublicationEnd, PublishDecision, PublishRequest, Refusal } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Track } from '#media/track.ts';
import type { InternalErrors } from '#telemetry/internal-errors.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { type CutReason, endsPlayback } from './cuts.ts';
import { guarded, guardWith } from './guard.ts';
import { isHealthy } from './health.ts';
import { Intake } from './intake.ts';
import type { LadderOwner, OpenTranscoder } from './ladder.ts';
import type { Audience, LiveDirectory, LiveStatus, LiveUsage, Watchable } from './live.ts';
import { codecsOf, LEAD_IN_MS, LiveSession } from './live-session.ts';
import { isMadeFor, isTerminated, newSession } from './new-session.ts';
import { Publishers } from './publishers.ts';
import type { SessionJournal } from './session-journal.ts';
import { SessionNotes } from './session-notes.ts';
import { type Viewer, type ViewerQuota, Viewers } from './viewers.ts';

/** Media sequence numbers between two lives of a session: more segments than any of them can have. */
const MEDIA_SEQUENCES_PER_RESTART = 1_000_000;
const MIB = 1024 * 1024;

/** What the registry is made with. */
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
  /** This process, among those that share the store. */
  readonly nodeId: NodeId;
  /** Whether there may be others: they read of sessions what is written of them. */
  readonly isShared: boolean;
  readonly createPresentation: (options: PresentationOptions) => Presentation;
  readonly openTranscoder: OpenTranscoder;
  readonly memory: MediaMemory;
  readonly journal: SessionJournal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly errors: InternalErrors;
  /** Called when the last publisher of a stream has gone. */
  readonly onPublisherGone?: (streamId: StreamId) => void;
}

/** What one stream has running. */
interface Slot {
  readonly userId: UserId;
  /** The session that is running, or ended last. */
  session: LiveSession | undefined;
}

/** The sessions of one process. */
export class SessionRegistry implements LiveDirectory, Audience, AsyncDisposable {
  readonly #options: SessionRegistryOptions;
  readonly #publishers: Publishers;
  /** Of every stream that has a publisher, or a session that can be watched. */
  readonly #slots = new Map<StreamId, Slot>();
  readonly #newest = new Map<PlaybackId, LiveSession>();
  readonly #sessions = new Map<SessionId, LiveSession>();
  readonly #paths = new Map<MediaPath, LiveSession>();
  readonly #viewers: Viewers;
  readonly #notes: SessionNotes;
  /** The quotas of each user who has a slot, as they were read last. */
  readonly #quotas = new Map<UserId, Quotas>();
  readonly #retirements = new Map<LiveSession, NodeJS.Timeout>();
  #closing = false;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    const { metrics, memory, settings, clock } = options;
    this.#publishers = new Publishers(settings.maxPublishers);
    this.#viewers = new Viewers(settings.maxViewers, clock);
    this.#notes = new SessionNotes(options);
    metrics.viewers.observe({}, () => this.#viewers.count);
    metrics.publishers.observe({}, () => this.#publishers.count);
    metrics.mediaMemory.observe({}, () => memory.usedBytes);
    metrics.unhealthySessions.observe({}, () => this.#countUnhealthy());
    for (const phase of SESSION_PHASES) metrics.sessions.observe({ phase }, () => this.#count(phase));
  }

  /** Accepts a publisher whose key was found good, or says why not. @param quotas of the stream's user */
  publish(stream: Stream, request: PublishRequest, quotas: Quotas): PublishDecision {
    const refusal = this.refusalOf(stream, quotas);
    if (refusal !== undefined) return { accepted: false, refusal };
    const { clock, memory, errors } = this.#options;
    const slot = this.#slot(stream.id, stream.userId);
    this.#quotas.set(stream.userId, quotas);
    const quotasNow = () => this.quotasOfUser(stream.userId);
    const cutIntake = (reason: CutReason) => this.#cutIntake(stream.id, intake, reason);
    const guard = guardWith((where, error) => {
      errors.note(where, error);
      try {
        cutIntake('internal_error');
      } catch (another) {
        errors.note(where, another);
      }
    });
    const intake = new Intake(
      {
        get bitrateLimitKbps() {
          return quotasNow().ingestBitrateKbps;
        },
        onTooFast: () => cutIntake('ingest_bitrate_exceeded'),
        openAccount: () =>
          memory.open(this.#memoryUser(stream.userId), {
            giveBackRetired: () => false,
            giveUp: () => guard('session', () => cutIntake('media_memory_exhausted')),
          }),
        guard: (work) => guard('ingest', work),
        onMedia: () => this.#mediaBegan(slot, stream),
        open: (tracks, announcement) => this.#open(slot, stream, tracks, announcement, request.encoder),
        onEnd: (reason) => this.#publisherGone(slot, stream.id, intake, reason),
      },
      clock,
    );
    const { streamKey, cut } = request;
    this.#publishers.add(stream.id, { intake, stream, streamKey, cut });
    return { accepted: true, publication: guarded(guard, 'ingest', intake) };
  }

  /** Why a publisher of this stream would be refused now; undefined when it would not. @param quotas as for {@link publish} */
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

  /** The quotas of a user as they were read last; the defaults when nothing of the user runs here. */
  quotasOfUser(userId: UserId): Quotas {
    return this.#quotas.get(userId) ?? this.#options.settings.quotas;
  }

  /** Replaces the quotas of a user, which hold from now on for everything of the user that runs here. It ends no session. */
  setQuotas(userId: UserId, quotas: Quotas): void {
    if (this.#hasSlotOf(userId)) this.#quotas.set(userId, quotas);
  }

  /** The streams that have a publisher or something to watch here, each with its user. */
  get streams(): ReadonlyMap<StreamId, UserId> {
    const streams = new Map<StreamId, UserId>();
    for (const { record } of this.#sessions.values()) streams.set(record.streamId, record.userId);
    for (const [streamId, { userId }] of this.#slots) streams.set(streamId, userId);
    return streams;
  }

  /** Whether a session here has not ended. */
  get isRunning(): boolean {
    return this.#count('ended') < this.#sessions.size;
  }

  /** Who publishes here. */
  get publishers(): Pick<Publishers, 'has' | 'silences'> {
    return this.#publishers;
  }

  /**
   * Ends a stream's session, its publisher told why. Where nothing of it may be watched any more, its media goes at once. A key that
   * was replaced ends only what a publisher sends with the old one.
   */
  cut(streamId: StreamId, reason: CutReason): void {
    const wasPublished = this.#publishers.cut(streamId, reason);
    if (!wasPublished && reason !== 'key_rotated') this.#slots.get(streamId)?.session?.end(reason);
    if (!endsPlayback(reason)) return;
    for (const session of this.#sessions.values()) if (session.record.streamId === streamId) this.#retire(session);
  }

  /**
   * Applies what changed on a stream. A publisher is disconnected when it came with an earlier stream key, or before the stream was
   * terminated or its settings for sessions changed. A session that began before the termination ends, even while it has no publisher.
   */
  follow(stream: Stream): void {
    if (this.#publishers.hasOtherKey(stream.id, stream.streamKey)) this.cut(stream.id, 'key_rotated');
    if (this.#publishers.isTerminated(stream) || this.#publishers.isOutdated(stream)) this.cut(stream.id, 'terminated');
    const waiting = this.#slots.get(stream.id)?.session;
    if (waiting !== undefined && isTerminated(stream, waiting.record)) waiting.end('terminated');
    const session = this.#slots.get(stream.id)?.session;
    if (session === undefined || session.state.phase === 'ended' || !session.rename(stream.name)) return;
    this.#notes.name(session, stream.name);
  }

  /** Writes how many watch each session, where that has changed; for processes it does not run in. */
  noteViewers(): void {
    for (const session of this.#sessions.values()) {
      const viewers = this.#viewers.countOf(session.record.playbackId);
      const { phase } = session.state;
      const isWritten = phase === 'live' || phase === 'reconnecting';
      if (isWritten && session.noteViewers(viewers)) this.#notes.viewers(session, viewers);
    }
  }

  /** Writes every running session again, as if nothing had been written. */
  rewrite(): void {
    for (const { session } of this.#slots.values()) {
      if (session !== undefined && session.state.phase !== 'ended') this.#notes.again(session, this.#isActive(session));
    }
  }

  /** Takes up a session that another process left behind; it waits for its publisher until `until`. */
  restore(record: Session, state: SessionState): void {
    const session = this.#addSession(record, state);
    this.#notes.restored(session);
    this.#slot(record.streamId, record.userId).session = session;
  }

  status(streamId: StreamId): LiveStatus | undefined {
    const session = this.#slots.get(streamId)?.session;
    if (session === undefined) return undefined;
    // What is over here may go on at another node; the store knows.
    const isOver = session.state.phase === 'ended' && !this.#publishers.has(streamId);
    return this.#options.isShared && isOver ? undefined : this.#statusOf(session);
  }

  sessionStatus(sessionId: SessionId): LiveStatus | undefined {
    const session = this.#sessions.get(sessionId);
    return session === undefined ? undefined : this.#statusOf(session);
  }

  watch(playbackId: PlaybackId): Watchable | undefined {
    return watchable(this.#newest.get(playbackId));
  }

  watchPath(playbackId: PlaybackId, path: MediaPath): Watchable | undefined {
    const session = this.#paths.get(path);
    return session?.record.playbackId === playbackId ? watchable(session) : undefined;
  }

  viewers(playbackId: PlaybackId): number {
    return this.#viewers.countOf(playbackId);
  }

  usageOf(userId: UserId): LiveUsage {
    let transcodes = 0;
    for (const { record, isTranscoding } of this.#sessions.values()) {
      if (record.userId === userId && isTranscoding) transcodes++;
    }
    return {
      publishers: this.#publishers.countOf(userId),
      transcodes,
      mediaMemoryBytes: this.#options.memory.usedBy(userId),
      viewers: this.#viewers.countOfUser(userId),
    };
  }

  watched(playbackId: PlaybackId, viewer: Viewer, quota?: ViewerQuota): boolean {
    const session = this.#newest.get(playbackId);
    const counted = quota ?? this.#viewerQuotaOf(session);
    const noted = counted === undefined || this.#viewers.note(playbackId, viewer, counted);
    if (noted) session?.watchedBy(this.#viewers.countOf(playbackId));
    return noted;
  }

  watchedElsewhere(playbackId: PlaybackId, names: readonly string[]): void {
    this.#viewers.noteElsewhere(playbackId, names);
    this.#newest.get(playbackId)?.watchedBy(this.#viewers.countOf(playbackId));
  }

  takeUntold(playbackId: PlaybackId, atMost: number): readonly string[] {
    return this.#viewers.takeUntold(playbackId, atMost);
  }

  /** Refuses new publishers and lets all media go. Publishers must have been disconnected. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    for (const timer of this.#retirements.values()) clearTimeout(timer);
    await Promise.all(Array.from(this.#sessions.values(), (session) => this.#letGo(session)));
  }

  /** The quota that viewers of a session count against; undefined without a session, which nobody watches here. */
  #viewerQuotaOf(session: LiveSession | undefined): ViewerQuota | undefined {
    return session && { ofUser: session.record.userId, atMost: this.quotasOfUser(session.record.userId).viewers };
  }

  #count(phase: SessionState['phase']): number {
    let count = 0;
    for (const session of this.#sessions.values()) if (session.state.phase === phase) count++;
    return count;
  }

  #countUnhealthy(): number {
    let count = 0;
    for (const { session } of this.#slots.values()) {
      if (session !== undefined && this.#isActive(session) && !isHealthy(session.warnings)) count++;
    }
    return count;
  }

  #statusOf(session: LiveSession): LiveStatus {
    const isActive = this.#isActive(session);
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
      health: isActive ? () => session.health : undefined,
    };
  }

  /** Media of it is coming in. */
  #isActive(session: LiveSession): boolean {
    const { streamId } = session.record;
    return this.#slots.get(streamId)?.session === session && this.#publishers.isActive(streamId);
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

  #ladderOwner({ userId, streamId }: Session): LadderOwner {
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
  #cutIntake(streamId: StreamId, intake: Intake, reason: CutReason): void {
    if (this.#publishers.isBy(streamId, intake)) this.cut(streamId, reason);
  }

  #deleteSlot(streamId: StreamId): void {
    const userId = this.#slots.get(streamId)?.userId;
    this.#slots.delete(streamId);
    if (userId !== undefined && !this.#hasSlotOf(userId)) this.#quotas.delete(userId);
  }

  #hasSlotOf(userId: UserId): boolean {
    for (const slot of this.#slots.values()) if (slot.userId === userId) return true;
    return false;
  }

  #slot(streamId: StreamId, userId: UserId): Slot {
    let slot = this.#slots.get(streamId);
    if (slot === undefined) {
      slot = { userId, session: undefined };
      this.#slots.set(streamId, slot);
    }
    return slot;
  }

  #mediaBegan(slot: Slot, stream: Stream): void {
    if (slot.session === undefined || slot.session.state.phase === 'ended') slot.session = this.#newSession(stream);
    this.#notes.activity(slot.session, true);
  }

  /** The publisher's tracks are known: it continues the session that waits for it only where that would be made the same today. */
  #open(
    slot: Slot,
    stream: Stream,
    tracks: readonly Track[],
    announcement: Announcement | undefined,
    encoder: string | undefined,
  ): LiveSession {
    let session = slot.session;
    // Unknown codecs (a process that died before it wrote them) are taken to be the same.
    const hasOthers = session !== undefined && session.codecs !== '' && session.codecs !== codecsOf(tracks);
    const isOutdated = session !== undefined && !isMadeFor(stream, session.record);
    if (session !== undefined && isTerminated(stream, session.record)) session.end('terminated');
    if (session?.state.phase === 'reconnecting' && (hasOthers || isOutdated)) session.end('replaced');
    if (session === undefined || session.state.phase === 'ended') session = this.#newSession(stream);
    slot.session = session;
    session.publish(tracks, announcement, announcement?.encoder ?? encoder);
    return session;
  }

  #publisherGone({ session }: Slot, streamId: StreamId, intake: Intake, reason: PublicationEnd): void {
    if (this.#publishers.remove(streamId, intake)) this.#options.onPublisherGone?.(streamId);
    if (session === undefined) {
      if (!this.#publishers.has(streamId)) this.#deleteSlot(streamId);
      return;
    }
    const cutFor = this.#publishers.cutReasonOf(intake);
    if (reason === 'connection_lost') session.publisherLost();
    else session.end(reason === 'cut' ? (cutFor ?? 'terminated') : 'unpublished');
    // Replaced by a publisher at another node, which says itself how active it is.
    if (cutFor !== 'replaced') this.#notes.activity(session, false);
  }

  #newSession(stream: Stream): LiveSession {
    const { nodeId, clock } = this.#options;
    return this.#addSession(newSession(stream, nodeId, clock.now()), { phase: 'starting' });
  }

  #addSession(record: Session, state: SessionState): LiveSession {
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
            firstDiscontinuitySequence: record.restarts * MEDIA_SEQUENCES_PER_RESTART,
            epoch: ms(record.createdAt - LEAD_IN_MS),
            continued: record.restarts > 0,
            uriPrefix: record.mediaPath,
            memory,
            memoryUser: this.#memoryUser(record.userId),
          }),
        openTranscoder,
        owner: this.#ladderOwner(record),
        targetDurationS: settings.targetDurationS,
        reconnectWindowS: settings.reconnectWindowS,
        seenEveryMs: this.#notes.everyMs,
        clock,
        logger,
        metrics,
        errors,
        onState: (changed) => this.#stateChanged(changed),
        onSeen: (seen) => this.#notes.seen(seen, this.#isActive(seen)),
        onEndedByService: (reason) => this.cut(record.streamId, reason),
      },
      state,
    );
    this.#sessions.set(record.id, session);
    this.#newest.set(record.playbackId, session);
    this.#paths.set(record.mediaPath, session);
    return session;
  }

  #stateChanged(session: LiveSession): void {
    this.#notes.state(session, this.#isActive(session));
    if (session.state.phase === 'ended') this.#retireLater(session);
  }

  /** What the last playlists name stays fetchable for their length and three target durations more. */
  #retireLater(session: LiveSession): void {
    const { windowS, targetDurationS } = this.#options.settings;
    const retire = () => {
      try {
        this.#retire(session);
      } catch (error) {
        this.#options.errors.note('retire', error);
      }
    };
    const timer = setTimeout(retire, (windowS + 3 * targetDurationS) * 1000);
    timer.unref();
    this.#retirements.set(session, timer);
  }

  #retire(session: LiveSession): void {
    const { record } = session;
    clearTimeout(this.#retirements.get(session));
    this.#retirements.delete(session);
    this.#sessions.delete(record.id);
    this.#paths.delete(record.mediaPath);
    if (this.#newest.get(record.playbackId) === session) this.#newest.delete(record.playbackId);
    const slot = this.#slots.get(record.streamId);
    if (slot?.session === session) {
      slot.session = undefined;
      if (!this.#publishers.has(record.streamId)) this.#deleteSlot(record.streamId);
    }
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

/** A session that ended before its first part has nothing to show. */
function watchable(session: LiveSession | undefined): Watchable | undefined {
  if (session === undefined || (session.state.phase === 'ended' && !session.hasPlayed)) return undefined;
  const { record, state, presentation, thumbnail } = session;
  return { mediaPath: record.mediaPath, phase: state.phase, presentation, thumbnail };
}

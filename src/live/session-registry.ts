/**
 * Every session running in this process, and who publishes to it.
 */
import {
  type MediaPath,
  newMediaPath,
  newSessionId,
  type PlaybackId,
  type SessionId,
  type StreamId,
} from '#domain/ids.ts';
import { SESSION_PHASES, type Session, type SessionState } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { MediaMemory, Presentation, PresentationOptions } from '#hls/hls.ts';
import type { Announcement, PublicationEnd, PublishDecision, PublishRequest, Refusal } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Track } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { isHealthy } from './health.ts';
import { Intake } from './intake.ts';
import type { OpenTranscoder } from './ladder.ts';
import type { LiveDirectory, LiveStatus, Watchable } from './live.ts';
import { codecsOf, LEAD_IN_MS, LiveSession } from './live-session.ts';
import type { SessionJournal } from './session-journal.ts';

/** A publisher that sent nothing for this long may be replaced: its socket is probably half open. */
const TAKEOVER_SILENCE_MS = 3000;
/** Media sequence numbers between two lives of a session: more segments than any of them can have. */
const MEDIA_SEQUENCES_PER_RESTART = 1_000_000;
/** New publishers are refused above this share of the media memory, so that running sessions keep theirs. */
const MEMORY_FULL_AT = 0.9;

/** What the registry is made with. */
export interface SessionRegistryOptions {
  readonly settings: {
    readonly maxPublishers: number;
    readonly reconnectWindowS: number;
    readonly targetDurationS: number;
    readonly windowS: number;
  };
  readonly createPresentation: (options: PresentationOptions) => Presentation;
  readonly openTranscoder: OpenTranscoder;
  readonly memory: MediaMemory;
  readonly journal: SessionJournal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What one stream has running. */
interface Slot {
  publisher: { readonly intake: Intake; readonly cut: (refusal: Refusal) => void } | undefined;
  /** The session that is running, or ended last. */
  session: LiveSession | undefined;
}

/** The sessions of one process. */
export class SessionRegistry implements LiveDirectory, AsyncDisposable {
  readonly #options: SessionRegistryOptions;
  readonly #slots = new Map<StreamId, Slot>();
  readonly #newest = new Map<PlaybackId, LiveSession>();
  readonly #sessions = new Map<SessionId, LiveSession>();
  readonly #paths = new Map<MediaPath, LiveSession>();
  readonly #retirements = new Map<LiveSession, NodeJS.Timeout>();
  #publishers = 0;
  #closing = false;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    const { metrics, memory } = options;
    metrics.publishers.observe({}, () => this.#publishers);
    metrics.mediaMemory.observe({}, () => memory.usedBytes);
    metrics.unhealthySessions.observe({}, () => this.#countUnhealthy());
    for (const phase of SESSION_PHASES) metrics.sessions.observe({ phase }, () => this.#count(phase));
  }

  /** Takes a publisher whose key was found good, or says why not. */
  publish(stream: Stream, request: PublishRequest): PublishDecision {
    const { settings, memory, clock } = this.#options;
    if (this.#closing)
      return refused('service_unavailable', 'The server is shutting down; the encoder can reconnect in a moment.');
    const slot = this.#slot(stream.id);
    if (slot.publisher !== undefined && slot.publisher.intake.silentForMs() < TAKEOVER_SILENCE_MS) {
      return refused('stream_key_in_use', 'This stream key is already in use: stop the other encoder first.');
    }
    if (slot.publisher === undefined && this.#publishers >= settings.maxPublishers) {
      return refused('too_many_publishers', 'The server has as many publishers as it accepts; try again later.');
    }
    if (memory.usedBytes > memory.limitBytes * MEMORY_FULL_AT) {
      return refused('media_memory_exhausted', 'The server has no media memory left; try again later.');
    }
    this.#replacePublisher(slot);
    const intake = new Intake(
      {
        onMedia: () => this.#mediaBegan(slot, stream),
        open: (tracks, announcement) => this.#open(slot, stream, tracks, announcement, request.encoder),
        onEnd: (reason) => this.#publisherGone(slot, stream.id, intake, reason),
      },
      clock,
    );
    slot.publisher = { intake, cut: request.cut };
    this.#publishers++;
    return { accepted: true, publication: intake };
  }

  /** Takes up a session that another process left behind; it waits for its publisher until `until`. */
  restore(record: Session, state: SessionState): void {
    this.#slot(record.streamId).session = this.#addSession(record, state);
  }

  status(streamId: StreamId): LiveStatus | undefined {
    const slot = this.#slots.get(streamId);
    return slot?.session === undefined ? undefined : statusOf(slot, slot.session);
  }

  sessionStatus(sessionId: SessionId): LiveStatus | undefined {
    const session = this.#sessions.get(sessionId);
    return session === undefined ? undefined : statusOf(this.#slots.get(session.record.streamId), session);
  }

  watch(playbackId: PlaybackId): Watchable | undefined {
    return watchable(this.#newest.get(playbackId));
  }

  watchPath(playbackId: PlaybackId, path: MediaPath): Watchable | undefined {
    const session = this.#paths.get(path);
    return session?.record.playbackId === playbackId ? watchable(session) : undefined;
  }

  /** Refuses new publishers and lets all media go. Publishers must have been disconnected. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    for (const timer of this.#retirements.values()) clearTimeout(timer);
    await Promise.all(Array.from(this.#sessions.values(), (session) => session[Symbol.asyncDispose]()));
  }

  #count(phase: SessionState['phase']): number {
    let count = 0;
    for (const session of this.#sessions.values()) if (session.state.phase === phase) count++;
    return count;
  }

  #countUnhealthy(): number {
    let count = 0;
    for (const { session, publisher } of this.#slots.values()) {
      if (publisher?.intake.isActive && session !== undefined && !isHealthy(session.warnings)) count++;
    }
    return count;
  }

  #slot(streamId: StreamId): Slot {
    let slot = this.#slots.get(streamId);
    if (slot === undefined) {
      slot = { publisher: undefined, session: undefined };
      this.#slots.set(streamId, slot);
    }
    return slot;
  }

  #replacePublisher(slot: Slot): void {
    const silent = slot.publisher;
    if (silent === undefined) return;
    // First: a protocol that is cut ends its publication at once, for a reason that would end the session too.
    silent.intake.end('connection_lost');
    silent.cut({ code: 'replaced_by_new_publisher', reason: 'Another encoder took over after 3 s of silence.' });
  }

  #mediaBegan(slot: Slot, stream: Stream): void {
    if (slot.session === undefined || slot.session.state.phase === 'ended') slot.session = this.#newSession(stream);
    this.#options.journal.activity(stream.id, { isActive: true, lastSeen: this.#options.clock.now() });
  }

  /** The publisher's tracks are known: it continues the session that waits for it only with the same codecs. */
  #open(
    slot: Slot,
    stream: Stream,
    tracks: readonly Track[],
    announcement: Announcement | undefined,
    encoder: string | undefined,
  ): LiveSession {
    let session = slot.session;
    // Unknown codecs (a process that died before it wrote them) are taken to be the same.
    const others = session !== undefined && session.codecs !== '' && session.codecs !== codecsOf(tracks);
    if (session?.state.phase === 'reconnecting' && others) session.end('replaced');
    if (session === undefined || session.state.phase === 'ended') session = this.#newSession(stream);
    slot.session = session;
    session.publish(tracks, announcement, announcement?.encoder ?? encoder);
    return session;
  }

  #publisherGone(slot: Slot, streamId: StreamId, intake: Intake, reason: PublicationEnd): void {
    this.#publishers--;
    if (slot.publisher?.intake === intake) slot.publisher = undefined;
    const { session } = slot;
    if (session === undefined) {
      this.#slots.delete(streamId);
      return;
    }
    if (reason === 'connection_lost') session.publisherLost();
    else session.end(reason === 'cut' ? 'terminated' : 'unpublished');
    this.#options.journal.activity(streamId, { isActive: false, lastSeen: session.lastSeen });
  }

  #newSession(stream: Stream): LiveSession {
    const now = this.#options.clock.now();
    const record: Session = {
      id: newSessionId(),
      streamId: stream.id,
      userId: stream.userId,
      playbackId: stream.playbackId,
      name: stream.name,
      createdByTokenName: stream.createdByTokenName,
      profiles: stream.profiles,
      phase: 'starting',
      createdAt: now,
      lastSeen: now,
      reconnectUntil: undefined,
      endedAt: undefined,
      endReason: undefined,
      mediaPath: newMediaPath(),
      restarts: 0,
      codecs: '',
    };
    this.#options.journal.created(record);
    return this.#addSession(record, { phase: 'starting' });
  }

  #addSession(record: Session, state: SessionState): LiveSession {
    const { settings, clock, logger, metrics, memory, createPresentation, openTranscoder } = this.#options;
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
          }),
        openTranscoder,
        targetDurationS: settings.targetDurationS,
        reconnectWindowS: settings.reconnectWindowS,
        clock,
        logger,
        metrics,
        onState: (changed) => this.#stateChanged(changed),
        onSeen: (seen) => this.#options.journal.changed(record, { lastSeen: seen.lastSeen, codecs: seen.codecs }),
        onEndedByService: () => this.#cutPublisher(record.streamId),
      },
      state,
    );
    this.#sessions.set(record.id, session);
    this.#newest.set(record.playbackId, session);
    this.#paths.set(record.mediaPath, session);
    return session;
  }

  #cutPublisher(streamId: StreamId): void {
    this.#slots.get(streamId)?.publisher?.cut({
      code: 'media_memory_exhausted',
      reason: 'The server has no media memory left; lower the bitrate or try again later.',
    });
  }

  #stateChanged(session: LiveSession): void {
    const { state, record, lastSeen } = session;
    this.#options.journal.changed(record, {
      phase: state.phase,
      lastSeen,
      reconnectUntil: state.phase === 'reconnecting' ? state.until : undefined,
      ...(state.phase === 'ended' ? { endedAt: state.at, endReason: state.reason } : {}),
    });
    if (state.phase === 'ended') this.#retireLater(session);
  }

  /** What the last playlists name stays fetchable for their length and three target durations more. */
  #retireLater(session: LiveSession): void {
    const { windowS, targetDurationS } = this.#options.settings;
    const timer = setTimeout(() => this.#retire(session), (windowS + 3 * targetDurationS) * 1000);
    timer.unref();
    this.#retirements.set(session, timer);
  }

  #retire(session: LiveSession): void {
    const { record } = session;
    this.#retirements.delete(session);
    this.#sessions.delete(record.id);
    this.#paths.delete(record.mediaPath);
    if (this.#newest.get(record.playbackId) === session) this.#newest.delete(record.playbackId);
    const slot = this.#slots.get(record.streamId);
    if (slot?.session === session && slot.publisher === undefined) this.#slots.delete(record.streamId);
    void session[Symbol.asyncDispose]();
  }
}

function statusOf(slot: Slot | undefined, session: LiveSession): LiveStatus {
  const isActive = slot?.session === session && (slot.publisher?.intake.isActive ?? false);
  const { record, state, lastSeen } = session;
  const health = isActive ? () => session.health : undefined;
  return { sessionId: record.id, phase: state.phase, isActive, lastSeen, health };
}

/** A session that ended before its first part has nothing to show. */
function watchable(session: LiveSession | undefined): Watchable | undefined {
  if (session === undefined || (session.state.phase === 'ended' && !session.hasPlayed)) return undefined;
  const { record, state, presentation, thumbnail } = session;
  return { mediaPath: record.mediaPath, phase: state.phase, presentation, thumbnail };
}

/** A refusal as the gate's answer. */
export function refused(code: Refusal['code'], reason: string): PublishDecision {
  return { accepted: false, refusal: { code, reason } };
}

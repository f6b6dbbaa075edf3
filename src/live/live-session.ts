/**
 * One running session: its state, its publisher that may come back, its viewers, and its health.
 */

import type { ActiveWarning, SessionHealth } from '#domain/health.ts';
import { type HealthSample, MAX_SAMPLED_RENDITIONS } from '#domain/health-sample.ts';
import {
  type EndReason,
  nextSessionState,
  type Session,
  type SessionInput,
  type SessionState,
  type SessionTotals,
} from '#domain/session.ts';
import type { Presentation, PresentationOptions } from '#hls/hls.ts';
import type { Announcement } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { LateTicks } from '#lib/late-ticks.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import type { SessionOutput } from '#media/session-event.ts';
import type { Track, TrackId } from '#media/track.ts';
import type { Recorder, RecordingExtent, RecordingRequest } from '#recording/recording.ts';
import type { ErrorPlace, InternalErrors } from '#telemetry/internal-errors.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { PictureState } from '#transcode/transcoder.ts';
import type { DisconnectReason } from './disconnects.ts';
import { GapLog } from './gap-log.ts';
import { type Guard, guarded, guardWith } from './guard.ts';
import { SampleRing } from './sample-ring.ts';
import { SessionMedia } from './session-media.ts';
import { SessionRecording } from './session-recording.ts';
import { SessionWarnings } from './session-warnings.ts';
import { codecsOf, leaderOf } from './track-selection.ts';
import type { OpenTranscoder, TranscoderOwner } from './transcoded-renditions.ts';

/**
 * The session time at which a session begins. It is above 0, because encoders that reorder frames give a rendition's first packets decoding
 * times before the source's first frame is shown, and no time may be negative.
 */
export const LEAD_IN_MS = 1000;
/** How often the media and the reconnect window are checked. It is shorter than a part, so that playlists keep advancing in time. */
const PACE_MS = 250;

/** The seconds of black video, of frozen video and of silent audio after which a warning is raised. */
const BLACK_AFTER_S = 10;
const FROZEN_AFTER_S = 30;
const SILENT_AFTER_S = 20;

/** The options of a session. */
export interface LiveSessionOptions {
  readonly record: Session;
  /** Makes the presentation. Called once, with the session's callbacks. */
  readonly createPresentation: (
    callbacks: Pick<PresentationOptions, 'onFirstPart' | 'onMemoryExhausted' | 'onSinkFailed'>,
  ) => Presentation;
  readonly openTranscoder: OpenTranscoder;
  /** The user and stream that its transcoder is charged to. */
  readonly owner: TranscoderOwner;
  readonly targetDurationS: number;
  readonly reconnectWindowS: number;
  /** How often {@link onSeen} is called while media is received, in milliseconds. */
  readonly seenEveryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly errors: InternalErrors;
  /** Whether an earlier process has recorded media of the session. */
  readonly isRecorded: boolean;
  /** Begins the session's recording. Called at most once, when a session that is recorded is shown for the first time. */
  readonly beginRecording: (request: RecordingRequest) => Recorder;
  /** Called when the end of its recording is durable. */
  readonly onRecorded: (session: Session, extent: RecordingExtent) => void;
  /** Called after every change of state. */
  readonly onState: (session: LiveSession) => void;
  /** Called when `seenEveryMs` has passed while media is received, and when the tracks changed. */
  readonly onSeen: (session: LiveSession) => void;
  /** Called when the session ended although its publisher did not leave, so that the publisher must be disconnected. */
  readonly onEndedByService: (reason: DisconnectReason) => void;
}

/** Whether the session has a publisher, even one whose media is not playable yet. */
type Publisher = {
  /** The monotonic time at which a session whose media was interrupted stops waiting for a publisher. */
  readonly giveUpAt: number;
} & ({ readonly type: 'absent' } | { readonly type: 'connected'; readonly encoder: string | undefined });

/**
 * A session in memory. Its owner calls {@link LiveSession.publisherLost} or {@link LiveSession.end}. An end is final. An error that is
 * thrown inside the session ends it with `internal_error`, and never reaches the caller.
 */
export class LiveSession implements AsyncDisposable {
  readonly record: Session;
  readonly presentation: Presentation;
  readonly #options: LiveSessionOptions;
  readonly #logger: Logger;
  readonly #media: SessionMedia;
  readonly #warnings: SessionWarnings;
  readonly #recording: SessionRecording | undefined;
  readonly #samples = new SampleRing();
  #peakViewers: number;
  #name: string;
  #state: SessionState;
  #publisher: Publisher = { type: 'absent', giveUpAt: Number.POSITIVE_INFINITY };
  #pacer: NodeJS.Timeout | undefined;
  #hasPlayed = false;
  /** The monotonic time of session time 0, in milliseconds. */
  readonly #startedAt: number;
  #seenAt: Milliseconds;
  /** The monotonic time at which {@link LiveSessionOptions.onSeen} was last called because media was received, in milliseconds. */
  #reportedAt: number;
  readonly #guard: Guard = guardWith((where, error) => this.#failed(where, error));

  /**
   * @param state `starting` for a new session, `reconnecting` for one resumed after a restart
   */
  constructor(options: LiveSessionOptions, state: SessionState) {
    const { record, clock, openTranscoder, owner, targetDurationS } = options;
    this.record = record;
    this.#options = options;
    this.#state = state;
    this.#logger = options.logger.child({ sessionId: record.id, streamId: record.streamId });
    this.#name = record.name;
    this.#peakViewers = record.totals.peakViewers;
    this.#startedAt = clock.monotonic() - beganBefore(options) - LEAD_IN_MS;
    this.#seenAt = record.lastSeen;
    this.#reportedAt = clock.monotonic();
    this.presentation = options.createPresentation({
      onFirstPart: () => {
        this.#hasPlayed = true;
        this.#apply({ type: 'first_part', at: clock.now() });
        this.#toRecording((recording) => recording.begin());
      },
      onMemoryExhausted: () => this.#guard('session', () => this.endByService('media_memory_exhausted')),
      onSinkFailed: (error) => options.errors.note('session', error),
    });
    this.#warnings = new SessionWarnings(options);
    this.#recording = this.#openRecording();
    if (state.phase !== 'starting') this.#toRecording((recording) => recording.begin());
    this.#media = new SessionMedia({
      owner,
      profiles: record.profiles,
      openTranscoder: (request) =>
        openTranscoder({
          ...request,
          callbacks: guarded(this.#guard, 'transcoder', request.callbacks),
          onRevoked: () => this.#guard('transcoder', () => request.onRevoked()),
        }),
      targetDurationS,
      continued: record.restarts > 0,
      startedAt: this.#startedAt,
      warnings: this.#warnings,
      clock,
      logger: this.#logger,
      onStart: () => this.#onMediaStart(),
      onUnusableTimestamps: () => this.endByService('timestamps_unusable'),
      onOffered: (renditions) => this.presentation.offer(renditions),
      onPicture: (picture) => this.#toRecording((recording) => recording.picture(picture)),
      onOutputFailed: (output, error) => this.#outputFailed(output, error),
    });
    this.#media.attach(this.presentation);
    this.#media.attach(new GapLog({ clock, logger: this.#logger }));
    if (state.phase === 'reconnecting') {
      this.#publisher = { type: 'absent', giveUpAt: clock.monotonic() + Math.max(0, state.until - clock.now()) };
      this.#pace();
    }
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The stream's name. */
  get name(): string {
    return this.#name;
  }

  /** When media was last received, or when the session began if none was. */
  get lastSeen(): Milliseconds {
    return this.#seenAt;
  }

  /** The media received and made so far, by this process and by earlier ones. */
  get totals(): SessionTotals {
    const { totals } = this.record;
    const here = this.#media.totals;
    return {
      sourceBytes: totals.sourceBytes + here.sourceBytes,
      sourceSegments: totals.sourceSegments + here.sourceSegments,
      sourceSegmentsDuration: totals.sourceSegmentsDuration + here.sourceSegmentsDuration,
      transcodedBytes: totals.transcodedBytes + here.transcodedBytes,
      transcodedSegments: totals.transcodedSegments + here.transcodedSegments,
      transcodedSegmentsDuration: totals.transcodedSegmentsDuration + here.transcodedSegmentsDuration,
      peakViewers: this.#peakViewers,
    };
  }

  /** Bytes per second of the received media and of its renditions. */
  get rates(): SessionMedia['rates'] {
    return this.#media.rates;
  }

  /** Whether any media of the session could be watched in this process. */
  get hasPlayed(): boolean {
    return this.#hasPlayed;
  }

  /** The newest frame as a JPEG. Undefined when nothing is transcoded. */
  get thumbnail(): Uint8Array | undefined {
    return this.#media.thumbnail;
  }

  /** Whether the session has a transcoder now. */
  get isTranscoding(): boolean {
    return this.#media.isTranscoding;
  }

  /** The present warnings. */
  get warnings(): readonly ActiveWarning[] {
    return this.#warnings.active;
  }

  /** The present health, computed at each call. */
  get health(): SessionHealth {
    return {
      encoder: this.#publisher.type === 'connected' ? this.#publisher.encoder : undefined,
      ...this.#media.health,
      hasThumbnail: this.thumbnail !== undefined,
      warnings: this.#warnings.active,
    };
  }

  /** The RFC 6381 names of its tracks, as in {@link Session.codecs}. */
  get codecs(): string {
    return codecsOf(this.#media.tracks) || this.record.codecs;
  }

  /** The samples of the last 15 minutes, the oldest first. */
  get samples(): readonly HealthSample[] {
    return this.#samples.list();
  }

  /** Takes a sample of what was received since the last one. Undefined while there is no publisher, and before the first media. */
  takeSample(viewers: number): HealthSample | undefined {
    const arrival = this.#media.takeArrival();
    if (arrival === undefined || this.#publisher.type === 'absent' || this.#state.phase === 'ended') return undefined;
    this.#warnOfPicture(arrival.framesPerSecond > 0 ? this.#media.pictureState : undefined);
    const { silentS } = this.#media;
    if (silentS >= SILENT_AFTER_S) this.#warnings.raise({ code: 'audio_silent', seconds: silentS });
    else this.#warnings.clear('audio_silent');
    const { renditions, transcoder } = this.#media.health.ladder;
    const states = new Map(renditions.map(({ id, state }) => [id, state]));
    const sample: HealthSample = {
      at: this.#options.clock.now(),
      ...arrival,
      lagMs: transcoder?.lagMs,
      viewers,
      renditions: this.record.profiles
        .slice(0, MAX_SAMPLED_RENDITIONS)
        .map(({ name }) => states.get(name) ?? 'waiting'),
    };
    this.#samples.add(sample);
    return sample;
  }

  /** Notes the number of viewers, for the peak. */
  watchedBy(viewers: number): void {
    this.#peakViewers = Math.max(this.#peakViewers, viewers);
  }

  /** Sets the stream's name. Returns whether it has changed. */
  rename(name: string): boolean {
    const isNew = name !== this.#name;
    this.#name = name;
    return isNew;
  }

  /**
   * Begins or continues with a publisher that has the same codecs. Its first keyframe starts or continues the presentation.
   * @param encoder the encoder's name for itself
   */
  publish(tracks: ReadonlyMap<TrackId, Track>, announcement: Announcement | undefined, encoder?: string): void {
    this.#guard('session', () => {
      this.#publisher = { type: 'connected', giveUpAt: this.#publisher.giveUpAt, encoder };
      this.#media.publish(tracks, announcement);
      this.#options.onSeen(this);
    });
  }

  /** Sets a track that appeared late, or whose configuration changed. */
  setTrack(id: TrackId, track: Track): void {
    this.#guard('ingest', () => {
      if (this.#media.setTrack(id, track)) this.#options.onSeen(this);
    });
  }

  /** Takes the publisher's next packet, with its own timestamps. */
  write(id: TrackId, packet: Packet): void {
    if (this.#state.phase === 'ended') return;
    this.#guard('ingest', () => {
      if (this.#media.write(id, packet)) this.#seen();
    });
  }

  /**
   * Attaches an output. The output first gets the track of each rendition and the events since its newest keyframe, and then every event.
   * Disposing the result detaches and closes it. It is closed in any case when the session has ended or is disposed.
   */
  attach(output: SessionOutput): Disposable {
    return this.#media.attach(output);
  }

  /**
   * Waits for the publisher after its connection was lost. A session with nothing to show ends instead, with `no_media`. A publisher that
   * came back and was lost again before its first keyframe does not extend the reconnect window.
   */
  publisherLost(): void {
    this.#publisher = { type: 'absent', giveUpAt: this.#publisher.giveUpAt };
    if (this.#state.phase === 'reconnecting') return;
    this.#showWhatThereIs();
    if (this.#state.phase !== 'live') {
      this.end('no_media');
      return;
    }
    this.#guard('session', () => {
      const { clock, reconnectWindowS } = this.#options;
      const windowMs = reconnectWindowS * 1000;
      this.#publisher = { type: 'absent', giveUpAt: clock.monotonic() + windowMs };
      this.#media.stop();
      this.#apply({ type: 'connection_lost', until: ms(clock.now() + windowMs) });
    });
  }

  /**
   * Ends the session. Its playlists end (EXT-X-ENDLIST), and can be fetched until the session is retired. A second call changes nothing.
   */
  end(reason: EndReason): void {
    this.#showWhatThereIs();
    if (this.#state.phase === 'ended') return;
    this.#stopPacing();
    this.#guard('session', () => this.#apply({ type: 'end', at: this.#options.clock.now(), reason }));
    // Without any track in this process there is no rendition to end.
    if (leaderOf(this.#media.tracks) === undefined) this.#guard('session', () => this.presentation[Symbol.dispose]());
    void this.#finish();
  }

  /** Ends the session for a reason of the service, and has its publisher disconnected. */
  endByService(reason: DisconnectReason): void {
    if (this.#state.phase === 'ended') return;
    this.end(reason);
    this.#guard('session', () => this.#options.onEndedByService(reason));
  }

  /** Ends the transcoder, frees the memory of the media, and pauses the recording of a session that has not ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopPacing();
    this.presentation[Symbol.dispose]();
    await this.#media[Symbol.asyncDispose]();
    if (this.#state.phase !== 'ended') await this.#pauseRecording();
  }

  /** Shows the session, if it still waits for renditions, because its publisher leaves. A session that is shown has a row in the store. */
  #showWhatThereIs(): void {
    if (this.#state.phase !== 'starting') return;
    try {
      this.presentation.showNow();
    } catch (error) {
      this.#options.errors.note('session', error);
    }
  }

  /** Ends the media, and then its recording. */
  async #finish(): Promise<void> {
    try {
      await this.#media.end();
    } catch (error) {
      this.#failed('session', error);
      this.#guard('session', () => this.presentation[Symbol.dispose]()); // answers the requests that wait for parts
    }
    try {
      const extent = await this.#recording?.end();
      if (extent !== undefined) this.#options.onRecorded(this.record, extent);
    } catch (error) {
      // When the disk fails, the recording is settled later.
      this.#logger.warn({ err: error }, 'the recording could not be ended yet');
    }
  }

  async #pauseRecording(): Promise<void> {
    try {
      await this.#recording?.pause();
    } catch (error) {
      this.#logger.warn({ err: error }, 'the recording may lack its last seconds');
    }
  }

  #openRecording(): SessionRecording | undefined {
    const { record, beginRecording, targetDurationS } = this.#options;
    if (record.recordingPath === undefined) return undefined;
    const recording = new SessionRecording({
      request: {
        sessionId: record.id,
        userId: record.userId,
        path: record.recordingPath,
        epoch: ms(record.createdAt - LEAD_IN_MS),
        targetDurationS,
        isContinued: this.#options.isRecorded,
        warn: (code, isRaised) => (isRaised ? this.#warnings.raise({ code }) : this.#warnings.clear(code)),
      },
      begin: beginRecording,
    });
    this.presentation.attach(recording);
    return recording;
  }

  /** Gives something to the recording, which must not end the session, whatever it throws. */
  #toRecording(give: (recording: SessionRecording) => void): void {
    try {
      if (this.#recording !== undefined) give(this.#recording);
    } catch (error) {
      this.#options.errors.note('session', error);
    }
  }

  /** Raises and clears the warnings about what the video shows. @param state undefined while no frame comes or none is decoded */
  #warnOfPicture(state: PictureState = { blackS: 0, frozenS: 0 }): void {
    if (state.blackS >= BLACK_AFTER_S) this.#warnings.raise({ code: 'video_black', seconds: state.blackS });
    else this.#warnings.clear('video_black');
    const isFrozen = state.frozenS >= FROZEN_AFTER_S && state.blackS < BLACK_AFTER_S;
    if (isFrozen) this.#warnings.raise({ code: 'video_frozen', seconds: state.frozenS });
    else this.#warnings.clear('video_frozen');
  }

  #onMediaStart(): void {
    this.#pace();
    if (this.#state.phase === 'reconnecting')
      this.#apply({ type: 'publisher_returned', at: this.#options.clock.now() });
  }

  #pace(): void {
    if (this.#pacer !== undefined) return;
    const ticks = new LateTicks(PACE_MS, this.#options.clock.monotonic());
    this.#pacer = setInterval(() => this.#guard('session', () => this.#paceOnce(ticks)), PACE_MS);
  }

  #paceOnce(ticks: LateTicks): void {
    const nowMs = this.#options.clock.monotonic();
    // While this process was held up, media, or a publisher that came back, may have been waiting to be read.
    if (ticks.tick(nowMs) > 0) return;
    const { type, giveUpAt } = this.#publisher;
    const isGivenUp = type === 'absent' && nowMs >= giveUpAt;
    if (this.#state.phase === 'reconnecting' && isGivenUp) this.end('reconnect_window_elapsed');
    else this.#media.pace();
  }

  #stopPacing(): void {
    clearInterval(this.#pacer);
    this.#pacer = undefined;
  }

  #seen(): void {
    const { clock, seenEveryMs } = this.#options;
    const nowMs = clock.monotonic();
    // Never earlier than the session time that was reached, so that the session continues after it even if the wall clock was set back.
    const reachedMs = this.record.createdAt + nowMs - this.#startedAt - LEAD_IN_MS;
    this.#seenAt = ms(Math.max(clock.now(), Math.round(reachedMs)));
    if (nowMs - this.#reportedAt < seenEveryMs) return;
    this.#reportedAt = nowMs;
    this.#options.onSeen(this);
  }

  /** Notes an error that was thrown inside the session. The first one ends the session. */
  #failed(where: ErrorPlace, error: unknown): void {
    this.#options.errors.note(where, error);
    this.endByService('internal_error');
  }

  /** Handles an output that threw. A session cannot continue without its presentation, but can without another output. */
  #outputFailed(output: SessionOutput, error: unknown): void {
    if (!output.isRequired) {
      this.#options.errors.note('session', error);
      return;
    }
    this.#failed('session', error);
    this.#guard('session', () => this.presentation[Symbol.dispose]()); // answers the requests that wait for parts
  }

  #apply(input: SessionInput): void {
    const next = nextSessionState(this.#state, input);
    if (next === this.#state) return;
    this.#state = next;
    this.#logger.info(
      { phase: next.phase, ...(next.phase === 'ended' ? { reason: next.reason } : {}) },
      `session ${next.phase}`,
    );
    this.#options.onState(this);
  }
}

/**
 * How long ago a session began, in milliseconds. A session that is resumed continues after the time that an earlier process has reached,
 * although the wall clock may have been set back. That process received media for at most `seenEveryMs` after it stored `lastSeen`.
 */
function beganBefore({ record, clock, seenEveryMs }: LiveSessionOptions): number {
  const now = clock.now();
  const isSetBack = record.restarts > 0 && now < record.lastSeen;
  return Math.max(0, (isSetBack ? record.lastSeen + seenEveryMs : now) - record.createdAt);
}

/**
 * One running session: places its publisher's packets in time, marks where segments are cut, and fills its presentation.
 * Keeps its viewers alive with gaps while no publisher is there.
 */

import { SOURCE_RENDITION } from '#domain/profile.ts';
import {
  type EndReason,
  nextSessionState,
  type Session,
  type SessionInput,
  type SessionState,
  type SessionTotals,
} from '#domain/session.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Announcement } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { type Milliseconds, ms, ticks } from '#lib/units.ts';
import { USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import { heldPicture, type Packet } from '#media/packet.ts';
import { type AudioTrack, sameTrack, type Track, type TrackKind } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { ActiveWarning, SessionHealth } from './health.ts';
import { Ladder, type OpenTranscoder } from './ladder.ts';
import { MediaTotals } from './media-totals.ts';
import { PictureHold } from './picture-hold.ts';
import { AUDIO_RENDITION } from './rendition-id.ts';
import { SegmentMarker } from './segment-marker.ts';
import { SessionWarnings } from './session-warnings.ts';
import { SourceMeter } from './source-meter.ts';
import { Timeline } from './timeline.ts';

/**
 * Session time when a session begins: encoders decode some frames earlier than they present them, and no time may be below 0.
 */
export const LEAD_IN_MS = 1000;
/** How often gaps are written, pictures held and the reconnect window is looked at; below a part target, so playlists keep moving in time. */
const PACE_MS = 250;
/** Room left behind the last frame, whose duration is only guessed, when media starts again without a pause. */
const RESTART_MARGIN_S = 0.1;
/** How long nothing of a source without sound may come before that is a pause of its pictures. */
const SILENT_PAUSE_S = 1;
/** The rendition a track is packaged as, passed through or not. */
const RENDITION_OF: Record<TrackKind, string> = { video: SOURCE_RENDITION, audio: AUDIO_RENDITION };

/** What a session needs from its surroundings. */
export interface LiveSessionOptions {
  readonly record: Session;
  /** Makes the presentation; called once. Its callbacks are the session's. */
  readonly createPresentation: (callbacks: { onFirstPart: () => void; onMemoryExhausted: () => void }) => Presentation;
  readonly openTranscoder: OpenTranscoder;
  readonly targetDurationS: number;
  readonly reconnectWindowS: number;
  /** How often {@link onSeen} is called while live. */
  readonly seenEveryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Called after every change of state. */
  readonly onState: (session: LiveSession) => void;
  /** Called now and then while media comes in, and when the tracks changed. */
  readonly onSeen: (session: LiveSession) => void;
  /** The session must let go of its publisher: it ended for another reason than the publisher's leaving. */
  readonly onEndedByService: (reason: EndReason) => void;
}

/** A session in memory. Its owner calls {@link LiveSession.publisherLost} or {@link LiveSession.end}; then it is final. */
export class LiveSession implements AsyncDisposable {
  readonly record: Session;
  readonly presentation: Presentation;
  readonly #options: LiveSessionOptions;
  readonly #logger: Logger;
  readonly #ladder: Ladder;
  readonly #source: SourceMeter;
  readonly #warnings: SessionWarnings;
  readonly #totals = new MediaTotals();
  #peakViewers: number;
  /** As written last. */
  #notedViewers: number;
  #name: string;
  #state: SessionState;
  #tracks = new Map<TrackKind, Track>();
  /** What sound that is not passed through becomes. */
  #encodedAudio: AudioTrack | undefined;
  #timeline: Timeline | undefined;
  /** Made anew for the first picture of each timeline. */
  #hold: PictureHold | undefined;
  #marker: SegmentMarker | undefined;
  #pacer: NodeJS.Timeout | undefined;
  /** How far media has been written by earlier timelines; undefined before the first packet in this process. */
  #mediaEndSeconds: number | undefined;
  /** Monotonic time at which a lost publisher is given up. */
  #giveUpAt = Number.POSITIVE_INFINITY;
  /** A publisher is there, though nothing of it may be playable yet. */
  #hasPublisher = false;
  /** A configuration changed: what follows begins at the leader's next keyframe. */
  #hasChanged = false;
  #hasPlayed = false;
  /** What the publisher calls itself. */
  #encoder: string | undefined;
  #seenAt: Milliseconds;
  #seenWrittenAt: Milliseconds;
  /** Monotonic time at which session time was 0; may lie before this process. */
  readonly #startedAt: number;

  /**
   * @param state `starting` for a new session, `reconnecting` for one taken up again after a restart
   */
  constructor(options: LiveSessionOptions, state: SessionState) {
    const { record, clock } = options;
    this.record = record;
    this.#options = options;
    this.#state = state;
    this.#logger = options.logger.child({ sessionId: record.id, streamId: record.streamId });
    this.#startedAt = clock.monotonic() - Math.max(0, clock.now() - record.createdAt) - LEAD_IN_MS;
    this.#name = record.name;
    this.#notedViewers = record.viewers;
    this.#peakViewers = record.totals.peakViewers;
    this.#seenAt = record.lastSeen;
    this.#seenWrittenAt = record.lastSeen;
    this.presentation = options.createPresentation({
      onFirstPart: () => {
        this.#hasPlayed = true;
        this.#apply({ type: 'first_part', at: clock.now() });
      },
      onMemoryExhausted: () => this.#endByService('media_memory_exhausted'),
    });
    this.#source = new SourceMeter(clock);
    this.#warnings = new SessionWarnings(options);
    this.#ladder = new Ladder({
      profiles: record.profiles,
      presentation: this.presentation,
      openTranscoder: options.openTranscoder,
      onAudioTrack: (track) => this.#onEncodedTrack(track),
      onAudioPacket: (packet) => this.#onEncodedAudio(packet),
      warnings: this.#warnings,
      clock,
      logger: this.#logger,
    });
    if (state.phase === 'reconnecting') {
      this.#giveUpAt = clock.monotonic() + Math.max(0, state.until - clock.now());
      this.#pace();
    }
  }

  get state(): SessionState {
    return this.#state;
  }

  /** When media last came in; 0 = never. */
  get lastSeen(): Milliseconds {
    return this.#seenAt;
  }

  /** What came in and went out, by earlier processes too. */
  get totals(): SessionTotals {
    const { totals } = this.record;
    const made = this.#ladder.totals;
    return {
      sourceBytes: totals.sourceBytes + this.#totals.bytes,
      sourceSegments: totals.sourceSegments + this.#totals.segments,
      sourceSegmentsDuration: totals.sourceSegmentsDuration + this.#totals.seconds,
      transcodedBytes: totals.transcodedBytes + made.bytes,
      transcodedSegments: totals.transcodedSegments + made.segments,
      transcodedSegmentsDuration: totals.transcodedSegmentsDuration + made.seconds,
      peakViewers: this.#peakViewers,
    };
  }

  /** Bytes a second: what comes in, and what is made of it. */
  get rates(): { readonly ingest: number; readonly outgoing: number } {
    return { ingest: this.#source.bytesPerSecond, outgoing: this.#ladder.bytesPerSecond };
  }

  /** Something of it could be watched. */
  get hasPlayed(): boolean {
    return this.#hasPlayed;
  }

  /** The newest picture as a JPEG; undefined where nothing is transcoded. */
  get thumbnail(): Uint8Array | undefined {
    return this.#ladder.thumbnail;
  }

  /** What is amiss now. */
  get warnings(): readonly ActiveWarning[] {
    return this.#warnings.active;
  }

  /** How it is doing; worked out at each call. */
  get health(): SessionHealth {
    return {
      encoder: this.#encoder,
      source: this.#source.health(this.#tracks.values()),
      ladder: this.#ladder.health,
      hasThumbnail: this.thumbnail !== undefined,
      warnings: this.#warnings.active,
    };
  }

  /** RFC 6381 names of its tracks, as {@link Session.codecs}. */
  get codecs(): string {
    return this.#tracks.size > 0 ? codecsOf([...this.#tracks.values()]) : this.record.codecs;
  }

  /** As many watch it now. */
  watchedBy(viewers: number): void {
    this.#peakViewers = Math.max(this.#peakViewers, viewers);
  }

  /** Takes how many watch it now; says whether that is another number than the last. */
  noteViewers(viewers: number): boolean {
    const isNew = viewers !== this.#notedViewers;
    this.#notedViewers = viewers;
    return isNew;
  }

  /** Takes the stream's name; says whether it was another. */
  rename(name: string): boolean {
    const isNew = name !== this.#name;
    this.#name = name;
    return isNew;
  }

  /**
   * A publisher begins, or comes back with the same codecs. Its first keyframe starts or goes on with the presentation.
   * @param encoder what it calls itself
   */
  publish(tracks: readonly Track[], announcement: Announcement | undefined, encoder?: string): void {
    this.#encoder = encoder;
    this.#hasPublisher = true;
    this.#warnings.clear('keyframe_interval_too_long'); // its settings may be others
    this.#tracks = new Map(tracks.map((track) => [track.kind, track]));
    for (const track of tracks) this.#announce(track, announcement);
    this.#stopTimeline();
    this.#marker ??= new SegmentMarker({ targetDurationS: this.#options.targetDurationS, leader: this.#leader() });
    this.#marker.lead(this.#leader());
    this.#options.onSeen(this);
  }

  /** A track appeared late, or its configuration changed. */
  setTrack(track: Track): void {
    const before = this.#tracks.get(track.kind);
    if (before !== undefined && sameTrack(before, track)) return;
    this.#tracks.set(track.kind, track);
    this.#announce(track, undefined);
    this.#marker?.lead(this.#leader());
    this.#options.onSeen(this);
    if (before === undefined) return;
    this.#logger.info({ kind: track.kind, codec: track.codecString }, 'track changed');
    this.#marker?.discontinue();
    this.#hasChanged = true;
  }

  /** The publisher's next packet, in its own clock. */
  write(packet: Packet): void {
    const track = this.#tracks.get(packet.kind);
    if (track === undefined || this.#marker === undefined || this.#state.phase === 'ended') return;
    this.#seen();
    if (this.#hasChanged && packet.kind === this.#leader()) {
      this.#hasChanged = false;
      if (!packet.keyframe) this.#stopTimeline();
    }
    if (this.#timeline === undefined) {
      if (packet.kind !== this.#leader() || !packet.keyframe) return;
      this.#start(packet, track);
    }
    const placement = this.#timeline!.place(packet, track, this.#elapsedSeconds());
    if (placement.type === 'jumped') this.#jump(packet);
    if (placement.type !== 'placed') return;
    this.#holdPicture(placement.packet, track);
    this.#source.add(placement.packet, track);
    if (packet.kind !== this.#leader() || needsEncoding(track)) this.#totals.addBytes(packet.data.byteLength);
    if (needsEncoding(track)) this.#ladder.write(placement.packet);
    else this.#present(placement.packet, track);
  }

  /**
   * The publisher's connection is lost: wait for it, or end when there is nothing to come back to. One that came back and was lost
   * again before its first keyframe opens no window of its own.
   */
  publisherLost(): void {
    this.#hasPublisher = false;
    if (this.#state.phase === 'reconnecting') return;
    if (this.#state.phase !== 'live') {
      this.end('no_media');
      return;
    }
    const { clock, reconnectWindowS } = this.#options;
    const windowMs = reconnectWindowS * 1000;
    this.#giveUpAt = clock.monotonic() + windowMs;
    this.#stopTimeline();
    this.#apply({ type: 'connection_lost', until: ms(clock.now() + windowMs) });
  }

  /** Ends the session; its last playlists stay as they are. A second call changes nothing. */
  end(reason: EndReason): void {
    if (this.#state.phase === 'ended') return;
    this.#stopPacing();
    this.#apply({ type: 'end', at: this.#options.clock.now(), reason });
    if (this.#ladder.isActive) void this.#endBehindLadder();
    else this.presentation.end();
  }

  /** Ends the transcoder and gives the media's memory back. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopPacing();
    this.presentation[Symbol.dispose]();
    await this.#ladder[Symbol.asyncDispose]();
  }

  /** Renditions are a little behind the source: their last packets come before EXT-X-ENDLIST. */
  async #endBehindLadder(): Promise<void> {
    await this.#ladder[Symbol.asyncDispose]();
    this.presentation.end();
  }

  #leader(): TrackKind {
    return this.#tracks.has('video') ? 'video' : 'audio';
  }

  #announce(track: Track, announcement: Announcement | undefined): void {
    if (track.kind === 'audio' && needsEncoding(track)) {
      this.presentation.expect([AUDIO_RENDITION]);
      this.#ladder.setAudioTrack(track);
      return;
    }
    const declared = track.kind === 'video' ? announcement?.videoBitrateBps : announcement?.audioBitrateBps;
    this.presentation.setTrack(RENDITION_OF[track.kind], track, declared);
    if (track.kind === 'video') this.#ladder.setTrack(track);
  }

  /** Where no pictures come beside the sound, renditions show the last one on. The source's own lasts until the next. */
  #holdPicture({ dts, pts }: Packet, track: Track): void {
    const [dtsS, ptsS] = [dts / track.timescale, pts / track.timescale];
    if (track.kind === 'video') {
      this.#hold ??= new PictureHold(ptsS, track.declaredFrameRate ?? USUAL_FRAME_RATE);
      this.#showAgain(track, this.#hold.sawPicture(dtsS, ptsS));
      return;
    }
    const video = this.#tracks.get('video');
    if (video !== undefined && this.#hold !== undefined) this.#showAgain(video, this.#hold.passed(ptsS));
  }

  /** The same where there is no sound to say how far time has come: a network that stands still for a moment looks alike. */
  #holdSilentPicture(): void {
    const video = this.#tracks.get('video');
    if (video === undefined || this.#tracks.has('audio') || this.#hold === undefined || !this.#ladder.isActive) return;
    const nowS = this.#timeline?.leaderSeconds(this.#elapsedSeconds());
    if (nowS === undefined) return;
    this.#showAgain(video, this.#hold.passed(nowS - SILENT_PAUSE_S));
  }

  /** Tells the transcoder, in the segments these times, in seconds, belong to. */
  #showAgain(video: Track, times: readonly number[]): void {
    for (const atS of times) {
      this.#marker?.pass(atS);
      const marked = this.#marker?.mark(heldPicture(ticks(Math.round(atS * video.timescale))), video);
      if (marked !== undefined) this.#ladder.write(marked);
    }
  }

  /** Gives viewers a packet they can play, in session time. */
  #present(packet: Packet, track: Track): void {
    const marked = this.#marker?.mark(packet, track);
    if (marked === undefined) return;
    if (packet.kind === this.#leader()) this.#totals.add(marked, track.timescale);
    if (marked.mark?.independent === false) this.#warnOfKeyframes();
    this.presentation.write(RENDITION_OF[track.kind], marked);
    if (track.kind === 'video') this.#ladder.write(marked);
  }

  #onEncodedTrack(track: AudioTrack): void {
    this.#encodedAudio = track;
    this.presentation.setTrack(AUDIO_RENDITION, track, undefined);
  }

  /** Sound comes back from the transcoder later than it was sent: it is marked only now, by cuts already made. */
  #onEncodedAudio(packet: Packet): void {
    const source = this.#tracks.get('audio');
    if (source === undefined || !needsEncoding(source) || this.#encodedAudio === undefined) return;
    this.#present(packet, this.#encodedAudio);
  }

  /** Session time now, in seconds. */
  #elapsedSeconds(): number {
    return (this.#options.clock.monotonic() - this.#startedAt) / 1000;
  }

  /** The leader's first keyframe of a connection, or behind a jump: placed where the wall clock says. */
  #start(packet: Packet, track: Track): void {
    let startSeconds = this.#elapsedSeconds();
    this.#pace();
    if (this.#mediaEndSeconds !== undefined) {
      startSeconds = Math.max(startSeconds, this.#mediaEndSeconds + RESTART_MARGIN_S);
      this.#marker?.resume(this.presentation.fillGap(startSeconds));
    }
    this.#timeline = new Timeline(this.#leader(), packet, track.timescale, startSeconds);
    this.#hold = undefined;
    this.#source.restart();
    if (this.#state.phase === 'reconnecting')
      this.#apply({ type: 'publisher_returned', at: this.#options.clock.now() });
  }

  /** The leader's clock jumped: go on at the next keyframe, behind a discontinuity; gaps until then. */
  #jump(packet: Packet): void {
    const code = 'timestamps_jumped';
    this.#warnings.raise({ code });
    this.#logger.warn({ code, kind: packet.kind, dts: packet.dts }, 'timestamps jumped');
    this.#stopTimeline();
    if (packet.keyframe) this.write(packet);
  }

  #pace(): void {
    if (this.#pacer !== undefined) return;
    this.#pacer = setInterval(() => this.#paceOnce(), PACE_MS);
  }

  #paceOnce(): void {
    const isGivenUp = !this.#hasPublisher && this.#options.clock.monotonic() >= this.#giveUpAt;
    if (this.#state.phase === 'reconnecting' && isGivenUp) this.end('reconnect_window_elapsed');
    else if (this.#timeline !== undefined) this.#holdSilentPicture();
    else if (this.#mediaEndSeconds !== undefined) this.presentation.fillGap(this.#elapsedSeconds());
  }

  /** Nothing can be shown until the leader's next keyframe: gaps meanwhile, for playlists must not stand still. */
  #stopTimeline(): void {
    if (this.#timeline === undefined) return;
    this.#mediaEndSeconds = this.#timeline.endSeconds;
    this.#timeline = undefined;
    this.#ladder.flush();
  }

  #stopPacing(): void {
    clearInterval(this.#pacer);
    this.#pacer = undefined;
  }

  #seen(): void {
    this.#seenAt = this.#options.clock.now();
    if (this.#seenAt - this.#seenWrittenAt < this.#options.seenEveryMs) return;
    this.#seenWrittenAt = this.#seenAt;
    this.#options.onSeen(this);
  }

  #warnOfKeyframes(): void {
    const code = 'keyframe_interval_too_long';
    const { targetDurationS } = this.#options;
    if (!this.#warnings.raise({ code, ...this.#source.keyframeInterval })) return;
    this.#logger.warn({ code }, `no keyframe within ${targetDurationS} s: set the encoder's keyframe interval to 2 s`);
  }

  #endByService(reason: EndReason): void {
    this.end(reason);
    this.#options.onEndedByService(reason);
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

/** Whether viewers get a track only as something else: players of HLS share AAC as the one audio codec. */
function needsEncoding(track: Track): boolean {
  return track.kind === 'audio' && track.codec !== 'aac';
}

/** What a returning publisher's tracks are compared by. */
export function codecsOf(tracks: readonly Track[]): string {
  return tracks
    .map((track) => track.codecString)
    .sort()
    .join(',');
}

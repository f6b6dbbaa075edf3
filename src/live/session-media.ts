/**
 * The media of one session on its way from publisher to viewers: places packets in time, marks where segments are cut, has pictures
 * shown on, and fills with gaps what is missing.
 */
import { type Profile, SOURCE_RENDITION } from '#domain/profile.ts';
import type { SessionTotals } from '#domain/session.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Announcement } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { ticks } from '#lib/units.ts';
import { USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import { heldPicture, type Packet } from '#media/packet.ts';
import { type AudioTrack, sameTrack, type Track, type TrackKind } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { LadderHealth, SourceHealth } from './health.ts';
import { Ladder, type LadderOwner, type OpenTranscoder } from './ladder.ts';
import { MediaTotals } from './media-totals.ts';
import { PictureHold } from './picture-hold.ts';
import { AUDIO_RENDITION } from './rendition-id.ts';
import { RepeatedLine } from './repeated-line.ts';
import { SegmentMarker } from './segment-marker.ts';
import type { SessionWarnings } from './session-warnings.ts';
import { SourceMeter } from './source-meter.ts';
import { StartLimit } from './start-limit.ts';
import { MAX_AHEAD_S, MAX_PAUSE_S, Timeline } from './timeline.ts';

/** Room left behind the last frame, whose duration is only guessed, when media starts again without a pause. */
const RESTART_MARGIN_S = 0.1;
/** How long nothing of a source without sound may come before that is a pause of its pictures. */
const SILENT_PAUSE_S = 1;
/** The rendition a track is packaged as, passed through or not. */
const RENDITION_OF: Record<TrackKind, string> = { video: SOURCE_RENDITION, audio: AUDIO_RENDITION };

/** What a session's media needs from its surroundings. */
export interface SessionMediaOptions {
  readonly owner: LadderOwner;
  readonly profiles: readonly Profile[];
  readonly presentation: Presentation;
  readonly openTranscoder: OpenTranscoder;
  readonly targetDurationS: number;
  /** Monotonic time at which session time was 0; may lie before this process. */
  readonly startedAt: number;
  readonly warnings: SessionWarnings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when media begins, or goes on after an interruption. */
  readonly onStart: () => void;
  /** Called when the timestamps have jumped again and again for so long that the publisher must go. */
  readonly onUnusableTimestamps: () => void;
}

/** A session's media in memory. Needs {@link SessionMedia.pace} now and then, for playlists may not stand still. */
export class SessionMedia implements AsyncDisposable {
  readonly #options: SessionMediaOptions;
  readonly #presentation: Presentation;
  readonly #logger: Logger;
  readonly #ladder: Ladder;
  readonly #source: SourceMeter;
  readonly #totals = new MediaTotals();
  #tracks = new Map<TrackKind, Track>();
  /** What sound that is not passed through becomes. */
  #encodedAudio: AudioTrack | undefined;
  #timeline: Timeline | undefined;
  /** Made anew for the first picture of each timeline. */
  #hold: PictureHold | undefined;
  #marker: SegmentMarker | undefined;
  /** How far media has been written by earlier timelines; undefined before the first packet in this process. */
  #endSeconds: number | undefined;
  readonly #starts = new StartLimit();
  /** Session time in seconds before which media may not start again: what was written before reaches that far ahead. */
  #notBeforeSeconds = 0;
  /** Session time by the wall clock when a packet was placed last, in seconds. */
  #placedSeconds = 0;
  readonly #jumpLine: RepeatedLine<object>;
  readonly #trackLine: RepeatedLine<object>;
  /** A configuration changed: what follows begins at the leader's next keyframe. */
  #hasChanged = false;

  constructor(options: SessionMediaOptions) {
    const { profiles, presentation, openTranscoder, owner, warnings, clock, logger } = options;
    this.#options = options;
    this.#presentation = presentation;
    this.#logger = logger;
    this.#source = new SourceMeter(clock);
    this.#jumpLine = new RepeatedLine(clock, (fields) => logger.warn(fields, 'timestamps jumped'));
    this.#trackLine = new RepeatedLine(clock, (fields) => logger.info(fields, 'track changed'));
    this.#ladder = new Ladder({
      owner,
      profiles,
      presentation,
      openTranscoder,
      onAudioTrack: (track) => this.#onEncodedTrack(track),
      onAudioPacket: (packet) => this.#onEncodedAudio(packet),
      warnings,
      clock,
      logger,
    });
  }

  /** What came in and what was made of it in this process. */
  get totals(): Omit<SessionTotals, 'peakViewers'> {
    const made = this.#ladder.totals;
    return {
      sourceBytes: this.#totals.bytes,
      sourceSegments: this.#totals.segments,
      sourceSegmentsDuration: this.#totals.seconds,
      transcodedBytes: made.bytes,
      transcodedSegments: made.segments,
      transcodedSegmentsDuration: made.seconds,
    };
  }

  /** Bytes a second: what comes in, and what is made of it. */
  get rates(): { readonly ingest: number; readonly outgoing: number } {
    return { ingest: this.#source.bytesPerSecond, outgoing: this.#ladder.bytesPerSecond };
  }

  /** The newest picture as a JPEG; undefined where nothing is transcoded. */
  get thumbnail(): Uint8Array | undefined {
    return this.#ladder.thumbnail;
  }

  /** Whether something of it is being transcoded. */
  get isTranscoding(): boolean {
    return this.#ladder.isActive;
  }

  /** How source and ladder are doing; worked out at each call. */
  get health(): { readonly source: SourceHealth; readonly ladder: LadderHealth } {
    return { source: this.#source.health(this.#tracks.values()), ladder: this.#ladder.health };
  }

  /** What comes in; none before the first publisher in this process. */
  get tracks(): readonly Track[] {
    return [...this.#tracks.values()];
  }

  /** A packet of that kind belongs to a track. */
  has(kind: TrackKind): boolean {
    return this.#tracks.has(kind);
  }

  /** A publisher begins, or comes back with the same codecs. Its first keyframe starts or goes on with the presentation. */
  publish(tracks: readonly Track[], announcement: Announcement | undefined): void {
    this.#options.warnings.clear('keyframe_interval_too_long'); // its settings may be others
    this.#tracks = new Map(tracks.map((track) => [track.kind, track]));
    for (const track of tracks) this.#announce(track, announcement);
    this.stop();
    this.#marker ??= new SegmentMarker({ targetDurationS: this.#options.targetDurationS, leader: this.#leader() });
    this.#marker.lead(this.#leader());
  }

  /** A track appeared late, or its configuration changed; says whether it did. */
  setTrack(track: Track): boolean {
    const before = this.#tracks.get(track.kind);
    if (before !== undefined && sameTrack(before, track)) return false;
    this.#tracks.set(track.kind, track);
    this.#announce(track, undefined);
    this.#marker?.lead(this.#leader());
    if (before === undefined) return true;
    this.#trackLine.happened({ kind: track.kind, codec: track.codecString });
    this.#marker?.discontinue();
    this.#hasChanged = true;
    return true;
  }

  /** The publisher's next packet, in its own clock. */
  write(packet: Packet): void {
    const track = this.#tracks.get(packet.kind);
    if (track === undefined || this.#marker === undefined) return;
    if (this.#hasChanged && packet.kind === this.#leader()) {
      this.#hasChanged = false;
      if (!packet.keyframe) this.stop();
    }
    if (this.#timeline === undefined) {
      if (packet.kind !== this.#leader() || !packet.keyframe || !this.#mayStart()) return;
      this.#start(packet, track);
    }
    const elapsedSeconds = this.#elapsedSeconds();
    const placement = this.#timeline!.place(packet, track, elapsedSeconds);
    if (placement.type === 'jumped') this.#jump(packet);
    if (placement.type === 'ahead') this.#waitForClock(packet);
    if (placement.type !== 'placed') return;
    this.#placedSeconds = elapsedSeconds;
    this.#holdPicture(placement.packet, track);
    this.#source.add(placement.packet, track);
    if (packet.kind !== this.#leader() || needsEncoding(track)) this.#totals.addBytes(packet.data.byteLength);
    if (needsEncoding(track)) this.#ladder.write(placement.packet);
    else this.#present(placement.packet, track);
  }

  /**
   * Must be called as time passes: repeats the last frame while the source pauses, and writes gaps where no media comes in. After a minute
   * without packets a publisher that is still connected no longer counts as pausing.
   */
  pace(): void {
    const elapsedSeconds = this.#elapsedSeconds();
    if (elapsedSeconds - this.#placedSeconds > MAX_PAUSE_S) this.stop();
    if (this.#timeline !== undefined) this.#holdSilentPicture();
    else if (this.#endSeconds !== undefined && elapsedSeconds > this.#endSeconds) {
      this.#presentation.fillGap(elapsedSeconds);
    }
  }

  /** Nothing can be shown until the leader's next keyframe: gaps meanwhile. */
  stop(): void {
    if (this.#timeline === undefined) return;
    this.#endSeconds = this.#timeline.endSeconds;
    this.#timeline = undefined;
    this.#ladder.flush();
  }

  /**
   * Ends the playlists, which stay as they are from then on. Transcoded renditions are a little behind the source, so this waits until
   * their last packets are there: these come before EXT-X-ENDLIST.
   */
  async end(): Promise<void> {
    if (this.#ladder.isActive) await this.#ladder[Symbol.asyncDispose]();
    this.#presentation.end();
  }

  /** Ends the transcoder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ladder[Symbol.asyncDispose]();
  }

  #leader(): TrackKind {
    return this.#tracks.has('video') ? 'video' : 'audio';
  }

  #announce(track: Track, announcement: Announcement | undefined): void {
    if (track.kind === 'audio' && needsEncoding(track)) {
      this.#presentation.expect([AUDIO_RENDITION]);
      this.#ladder.setAudioTrack(track);
      return;
    }
    const declared = track.kind === 'video' ? announcement?.videoBitrateBps : announcement?.audioBitrateBps;
    this.#presentation.setTrack(RENDITION_OF[track.kind], track, declared);
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
    this.#presentation.write(RENDITION_OF[track.kind], marked);
    if (track.kind === 'video') this.#ladder.write(marked);
  }

  #onEncodedTrack(track: AudioTrack): void {
    this.#encodedAudio = track;
    this.#presentation.setTrack(AUDIO_RENDITION, track, undefined);
  }

  /** Sound comes back from the transcoder later than it was sent: it is marked only now, by cuts already made. */
  #onEncodedAudio(packet: Packet): void {
    const source = this.#tracks.get('audio');
    if (source === undefined || !needsEncoding(source) || this.#encodedAudio === undefined) return;
    this.#present(packet, this.#encodedAudio);
  }

  /** Session time now, in seconds. */
  #elapsedSeconds(): number {
    return (this.#options.clock.monotonic() - this.#options.startedAt) / 1000;
  }

  /** Whether media may start now: not while it is too far ahead of the clock, and not too often. */
  #mayStart(): boolean {
    const elapsedSeconds = this.#elapsedSeconds();
    if (elapsedSeconds < this.#notBeforeSeconds) return false;
    if (this.#startSeconds(elapsedSeconds) > elapsedSeconds + MAX_AHEAD_S) {
      this.#notBeforeSeconds = this.#endSeconds ?? 0;
      return false;
    }
    const answer = this.#starts.next(this.#options.clock.monotonic() / 1000);
    if (answer === 'give_up') this.#options.onUnusableTimestamps();
    return answer === 'start';
  }

  /** The session time, in seconds, of media that starts now: that of the wall clock, but after everything written before. */
  #startSeconds(elapsedSeconds: number): number {
    return this.#endSeconds === undefined
      ? elapsedSeconds
      : Math.max(elapsedSeconds, this.#endSeconds + RESTART_MARGIN_S);
  }

  /** Places the leader's first keyframe of a connection, or after a jump, where the wall clock says. */
  #start(packet: Packet, track: Track): void {
    const elapsedSeconds = this.#elapsedSeconds();
    const startSeconds = this.#startSeconds(elapsedSeconds);
    if (this.#endSeconds !== undefined) this.#marker?.resume(this.#presentation.fillGap(startSeconds));
    this.#timeline = new Timeline(this.#leader(), packet, track.timescale, startSeconds);
    this.#placedSeconds = elapsedSeconds;
    this.#hold = undefined;
    this.#source.restart();
    this.#options.onStart();
  }

  /** Goes on at the next keyframe, after a discontinuity, because the leader's timestamps jumped. Gaps are written until then. */
  #jump(packet: Packet): void {
    this.#warnOfJump(packet);
    this.stop();
    if (packet.keyframe) this.write(packet);
  }

  /** Goes on after a discontinuity when the wall clock has caught up with the leader, which is too far ahead of it. */
  #waitForClock(packet: Packet): void {
    this.#warnOfJump(packet);
    this.stop();
    this.#notBeforeSeconds = this.#endSeconds ?? 0;
  }

  #warnOfJump({ kind, dts }: Packet): void {
    const code = 'timestamps_jumped';
    this.#options.warnings.raise({ code });
    this.#jumpLine.happened({ code, kind, dts });
  }

  #warnOfKeyframes(): void {
    const code = 'keyframe_interval_too_long';
    const { targetDurationS, warnings } = this.#options;
    if (!warnings.raise({ code, ...this.#source.keyframeInterval })) return;
    this.#logger.warn({ code }, `no keyframe within ${targetDurationS} s: set the encoder's keyframe interval to 2 s`);
  }
}

/** Whether viewers get a track only as something else: players of HLS share AAC as the one audio codec. */
function needsEncoding(track: Track): boolean {
  return track.kind === 'audio' && track.codec !== 'aac';
}

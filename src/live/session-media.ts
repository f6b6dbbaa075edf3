/**
 * The media of one session on its way from the publisher to the outputs. It places packets in session time, holds frames while the source
 * pauses, marks where segments begin, and determines what is missing.
 */
import type { LadderHealth, SourceHealth } from '#domain/health.ts';
import { AUDIO_RENDITION, type Profile, SOURCE_RENDITION } from '#domain/profile.ts';
import type { SessionTotals } from '#domain/session.ts';
import type { Announcement } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { ticks } from '#lib/units.ts';
import { USUAL_FRAME_RATE } from '#media/frame-rate.ts';
import type { Packet } from '#media/packet.ts';
import type { Picture } from '#media/picture.ts';
import { unplayableProperties } from '#media/playability.ts';
import type { RenditionId, SessionEvent, SessionOutput } from '#media/session-event.ts';
import { type AudioTrack, sameTrack, type Track, type TrackId, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { PictureState } from '#transcode/transcoder.ts';
import { Distributor } from './distributor.ts';
import { FrameHold } from './frame-hold.ts';
import { Interleaver } from './interleaver.ts';
import { isTooLong, type KeyframeInterval } from './keyframe-meter.ts';
import { MediaTotals } from './media-totals.ts';
import { RenditionSequence } from './rendition-sequence.ts';
import { RepeatedLine } from './repeated-line.ts';
import { SegmentMarker } from './segment-marker.ts';
import type { SessionWarnings } from './session-warnings.ts';
import { SilenceWatch } from './silence-watch.ts';
import { SourceMeter } from './source-meter.ts';
import { StartLimit } from './start-limit.ts';
import { MAX_AHEAD_S, MAX_PAUSE_S, Timeline } from './timeline.ts';
import { leaderOf, type SelectedTrack, type SelectedTracks, selectTracks } from './track-selection.ts';
import { type OpenTranscoder, TranscodedRenditions, type TranscoderOwner } from './transcoded-renditions.ts';

/** The longest time reserved for the last frame, whose duration is only estimated, when media restarts without a pause. */
const LAST_FRAME_S = 0.1;
/** How long a source without audio may send nothing before its video is taken to pause. */
const SILENT_PAUSE_S = 1;
/**
 * How long a source with audio may send nothing before gaps are written. Players give up on playlists that do not change. A shorter silence
 * may be only a pause of the video, during which some publishers send nothing, and afterwards the audio of the pause.
 */
const SILENCE_S = 3;
/**
 * How far a rendition with missing packets, or missing audio, may lag behind the source before gaps are written for it. A shed rendition may
 * lag further, until its stand-in has come. `BEHIND_MS` of `transcode/overload-policy.ts`, the lag at which one is shed, is another rule.
 */
const BEHIND_S = 1;
/** How long a source may send no keyframe while nothing of it can be shown without one, before its owner is warned. */
const KEYFRAME_WITHIN_S = 10;

/** The options of a session's media. */
export interface SessionMediaOptions {
  readonly owner: TranscoderOwner;
  readonly profiles: readonly Profile[];
  readonly openTranscoder: OpenTranscoder;
  readonly targetDurationS: number;
  /** Whether an earlier process has shown media of this session to viewers. The first segment does not continue it. */
  readonly continued: boolean;
  /** The monotonic time at which session time was 0. It may be before the start of this process. */
  readonly startedAt: number;
  readonly warnings: SessionWarnings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when media begins, or continues after an interruption. */
  readonly onStart: () => void;
  /** Called when the timestamps have jumped for so long that the publisher must be disconnected. */
  readonly onUnusableTimestamps: () => void;
  /** Called with the transcoded renditions that new viewers may begin with, whenever these change. */
  readonly onOffered: (renditions: readonly RenditionId[]) => void;
  /** Called with each picture of the video. Pictures are made only while something is transcoded. */
  readonly onPicture?: (picture: Picture) => void;
  /** Called when an output threw, after it was detached. */
  readonly onOutputFailed: (output: SessionOutput, error: unknown) => void;
}

/** Whether media is being written, and from when on it may continue. */
type Progress =
  | { readonly type: 'before_media' } // nothing has been written in this process
  | { readonly type: 'running'; readonly timeline: Timeline }
  /** Media with these tracks has been written until then, in seconds of session time. */
  | { readonly type: 'stopped'; readonly endS: number; readonly tracks: SelectedTracks };

/** A session's media in memory. {@link SessionMedia.pace} must be called regularly. */
export class SessionMedia implements AsyncDisposable {
  readonly #options: SessionMediaOptions;
  readonly #distributor: Distributor;
  readonly #marker: SegmentMarker;
  readonly #video: RenditionSequence;
  readonly #audio: RenditionSequence;
  readonly #transcoded: TranscodedRenditions;
  readonly #source: SourceMeter;
  readonly #silence = new SilenceWatch();
  readonly #totals = new MediaTotals();
  readonly #tracks = new Map<TrackId, Track>();
  #selected: SelectedTracks = { video: undefined, audio: undefined };
  /** The encoded form of audio that is not passed through. */
  #encodedAudio: AudioTrack | undefined;
  #progress: Progress = { type: 'before_media' };
  /** Replaced at the first frame of each timeline. */
  #hold: FrameHold | undefined;
  /** Replaced at each timeline, and when a configuration changes. */
  #interleaver = new Interleaver();
  readonly #starts = new StartLimit();
  /** The session time in seconds since which packets have come that cannot be shown until a keyframe starts media. */
  #awaitedFromS: number | undefined;
  /** The session time in seconds before which the owner is not warned again that there is no keyframe. */
  #warnNotBeforeS = 0;
  /** The session time in seconds before which media may not restart, because media that was written before reaches that far. */
  #notBeforeS = 0;
  /** The session time by the wall clock when the last packet was placed, in seconds. */
  #placedS = 0;
  /** The presentation times that the source's audio and video have reached, in seconds of session time. */
  #reachedS = { video: 0, audio: 0 };
  readonly #jumpLine: RepeatedLine<object>;
  readonly #trackLine: RepeatedLine<object>;
  /** Whether the media of the newest publisher has not started. */
  #isNewPublisher = false;
  /** Whether a configuration changed, so that media continues at the leader's next keyframe. */
  #hasChanged = false;

  constructor(options: SessionMediaOptions) {
    const { clock, logger, targetDurationS, continued, onOutputFailed } = options;
    this.#options = options;
    this.#source = new SourceMeter(clock);
    this.#jumpLine = new RepeatedLine(clock, (fields) => logger.warn(fields, 'timestamps jumped'));
    this.#trackLine = new RepeatedLine(clock, (fields) => logger.info(fields, 'track changed'));
    this.#distributor = new Distributor(onOutputFailed);
    this.#marker = new SegmentMarker({ targetDurationS, continued });
    const write = (id: RenditionId, event: SessionEvent) => this.#distributor.write(id, event);
    const marker = this.#marker;
    const isLed = () => this.#selected.video === undefined;
    this.#audio = new RenditionSequence({
      id: AUDIO_RENDITION,
      get role() {
        return isLed() ? 'leader' : 'follower';
      },
      marker,
      write: (id, event) => {
        write(id, event);
        if (isLed()) this.#totals.add(event, this.#audio.track);
      },
    });
    this.#transcoded = new TranscodedRenditions({
      ...options,
      openSequence: (id) => new RenditionSequence({ id, role: 'transcoded', marker, write }),
      onAudioTrack: (track) => this.#onEncodedTrack(track),
      onAudioPacket: (packet) => this.#onEncodedAudio(packet),
      onAudioMissing: (why) => {
        if (this.#isAudioEncoded) this.#audio.interrupt(why);
      },
    });
    this.#video = new RenditionSequence({
      id: SOURCE_RENDITION,
      role: 'leader',
      marker,
      write: (id, event) => {
        write(id, event);
        this.#totals.add(event, this.#video.track);
        if (event.type !== 'packet' && event.type !== 'held') return;
        this.#transcoded.write(event);
        const { mark } = event.type === 'held' ? event : event.packet;
        if (mark?.independent === false) this.#warnOfKeyframes();
      },
    });
  }

  /** The media received and made in this process. */
  get totals(): Omit<SessionTotals, 'peakViewers'> {
    const made = this.#transcoded.totals;
    return {
      sourceBytes: this.#totals.bytes,
      sourceSegments: this.#totals.segments,
      sourceSegmentsDuration: this.#totals.seconds,
      transcodedBytes: made.bytes,
      transcodedSegments: made.segments,
      transcodedSegmentsDuration: made.seconds,
    };
  }

  /** Bytes per second of the received media, and of its renditions. */
  get rates(): { readonly ingest: number; readonly outgoing: number } {
    return { ingest: this.#source.bytesPerSecond, outgoing: this.#transcoded.bytesPerSecond };
  }

  /** The newest frame as a JPEG. Undefined when nothing is transcoded. */
  get thumbnail(): Uint8Array | undefined {
    return this.#transcoded.thumbnail;
  }

  /** Whether something of the session is being transcoded. */
  get isTranscoding(): boolean {
    return this.#transcoded.isActive;
  }

  /** The health of the source and its renditions, computed at each call. */
  get health(): { readonly source: SourceHealth; readonly ladder: LadderHealth } {
    return { source: this.#source.health(this.#selected), ladder: this.#transcoded.health };
  }

  /** Seconds of media for which the audio has been silent. */
  get silentS(): number {
    return this.#silence.silentS;
  }

  /** See {@link TranscodedRenditions.pictureState}. */
  get pictureState(): PictureState | undefined {
    return this.#transcoded.pictureState;
  }

  /** See {@link SourceMeter.takeArrival}. */
  takeArrival(): ReturnType<SourceMeter['takeArrival']> {
    return this.#source.takeArrival();
  }

  /** The selected tracks. None before the first publisher in this process. */
  get tracks(): SelectedTracks {
    return this.#selected;
  }

  /** Attaches an output, which first gets the events since the newest keyframe of each rendition. Disposing the result detaches and closes it. */
  attach(output: SessionOutput): Disposable {
    return this.#distributor.attach(output);
  }

  /** Begins or continues with a publisher that has the same codecs. Media starts or continues at its first keyframe. */
  publish(tracks: ReadonlyMap<TrackId, Track>, announcement: Announcement | undefined): void {
    this.#options.warnings.clear('keyframe_interval_too_long'); // the publisher may have other settings
    this.#awaitedFromS = undefined;
    this.#warnNotBeforeS = 0;
    this.stop();
    this.#tracks.clear();
    for (const [id, track] of tracks) this.#tracks.set(id, track);
    this.#select(announcement, { all: true });
    this.#isNewPublisher = true;
  }

  /** Sets a track that appeared late, or whose configuration changed. Returns whether that changes the selected tracks. */
  setTrack(id: TrackId, track: Track): boolean {
    const before = this.#tracks.get(id);
    if (before !== undefined && sameTrack(before, track)) return false;
    this.#tracks.set(id, track);
    const isUsed = this.#select(undefined);
    if (before === undefined || !isUsed) return isUsed;
    this.#trackLine.happened({ kind: track.kind, codec: track.codecString });
    this.#marker.discontinue();
    // Audio with the old configuration that waits for its video can no longer be used.
    if (track.kind === 'audio') this.#interleaver = new Interleaver();
    this.#hasChanged = true;
    return true;
  }

  /** Takes the publisher's next packet, with its own timestamps. @returns whether the packet belongs to a selected track */
  write(id: TrackId, packet: Packet): boolean {
    const { video, audio } = this.#selected;
    const selected = video?.id === id ? video : audio;
    if (selected?.id !== id) return false;
    this.#place(selected, packet);
    return true;
  }

  /**
   * Must be called regularly. Holds the last frame while a source without audio pauses, and writes gaps while no media is received. After a
   * minute without packets, media stops, and starts again with the leader's next keyframe.
   */
  pace(): void {
    const elapsedS = this.#elapsedS();
    const silentS = elapsedS - this.#placedS;
    if (silentS > MAX_PAUSE_S) this.stop();
    switch (this.#progress.type) {
      case 'before_media':
        return;
      case 'running': {
        const { timeline } = this.#progress;
        this.#holdWithoutAudio(timeline);
        if (silentS < SILENCE_S || this.#selected.audio === undefined) return;
        this.#interrupt();
        // Media that lags behind the clock continues from its own position. A gap up to the clock would make it count as too late.
        this.#writeAway(Math.min(elapsedS, timeline.leaderSeconds(elapsedS) ?? elapsedS), this.#interleaver.audioLateS);
        return;
      }
      case 'stopped':
        this.#writeAway(elapsedS);
    }
  }

  /** Stops showing media until the leader's next keyframe. */
  stop(): void {
    if (this.#progress.type !== 'running') return;
    this.#progress = { type: 'stopped', endS: this.#progress.timeline.endSeconds, tracks: this.#selected };
    this.#interrupt();
    this.#transcoded.flush();
  }

  #interrupt(): void {
    this.#video.interrupt('source_interrupted');
    this.#audio.interrupt('source_interrupted');
    this.#transcoded.interrupt('source_interrupted');
  }

  /**
   * Ends every rendition, and closes the outputs. Transcoded renditions lag a little behind the source, so this waits for their last packets.
   */
  async end(): Promise<void> {
    try {
      if (this.#transcoded.isActive) await this.#transcoded[Symbol.asyncDispose]();
      this.#video.end();
      this.#audio.end();
      this.#transcoded.end();
    } finally {
      this.#distributor.close();
    }
  }

  /** Ends the transcoder, and closes the outputs. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#transcoded[Symbol.asyncDispose]();
    } finally {
      this.#distributor.close();
    }
  }

  get #leader(): SelectedTrack | undefined {
    return leaderOf(this.#selected);
  }

  get #isAudioEncoded(): boolean {
    return this.#selected.audio !== undefined && needsEncoding(this.#selected.audio.track);
  }

  /** Selects the tracks to use, and announces those that are new or changed. Returns whether there are any. */
  #select(announcement: Announcement | undefined, { all = false } = {}): boolean {
    const before = this.#selected;
    const selected = selectTracks(this.#tracks);
    this.#selected = selected;
    if (leaderOf(before)?.id !== leaderOf(selected)?.id) this.#marker.changeLeader();
    if (selected.audio !== undefined) {
      const { samplesPerPacket, timescale } = selected.audio.track;
      this.#marker.setAudioPacketS(samplesPerPacket / timescale);
    }
    const isNew = (a: SelectedTrack | undefined, b: SelectedTrack) => all || a?.id !== b.id || a.track !== b.track;
    const { video, audio } = selected;
    const hasVideo = video !== undefined && isNew(before.video, video);
    const hasAudio = audio !== undefined && isNew(before.audio, audio);
    if (hasVideo) {
      this.#video.setTrack({ type: 'track', track: video.track, averageBps: announcement?.videoBitrateBps });
      this.#transcoded.setTrack(video.track);
      this.#warnOfPlayability(video.track);
    }
    if (hasAudio && needsEncoding(audio.track)) this.#transcoded.setAudioTrack(audio.track);
    else if (hasAudio) {
      this.#audio.setTrack({ type: 'track', track: audio.track, averageBps: announcement?.audioBitrateBps });
    }
    return hasVideo || hasAudio;
  }

  #place(selected: SelectedTrack, packet: Packet): void {
    const isLeader = selected.id === this.#leader?.id;
    if (this.#hasChanged && isLeader) {
      this.#hasChanged = false;
      if (!packet.keyframe) this.stop();
    }
    if (this.#progress.type !== 'running') {
      if (!isLeader || !packet.keyframe) {
        this.#awaitKeyframe();
        return;
      }
      this.#awaitedFromS = undefined;
      if (!this.#mayStart()) return;
      this.#start(selected, packet);
    }
    if (this.#progress.type !== 'running') return;
    const elapsedS = this.#elapsedS();
    const placement = this.#progress.timeline.place(selected, packet, elapsedS);
    switch (placement.type) {
      case 'placed':
        this.#placedS = elapsedS;
        this.#source.add(selected, placement.packet, isLeader);
        for (const due of this.#interleaver.next(selected, placement.packet)) this.#onPlaced(due.selected, due.packet);
        // After an interruption, too, nothing is shown before a keyframe.
        if (this.#video.isInterrupted) this.#warnOfNoKeyframe(this.#source.keyframeInterval);
        break;
      case 'jumped':
        this.#jump(selected, packet);
        break;
      case 'ahead':
        this.#waitForClock(packet);
        break;
      case 'dropped':
        break;
    }
  }

  /** Takes a packet in session time. */
  #onPlaced(selected: SelectedTrack, packet: Packet): void {
    const { track } = selected;
    const { timescale, kind } = track;
    const shownS = packet.pts / timescale;
    this.#holdFrame(track, packet.dts / timescale, shownS);
    this.#reachedS[kind] = shownS;
    this.#totals.addBytes(packet.data.byteLength);
    if (needsEncoding(track)) this.#transcoded.write({ type: 'packet', packet });
    else {
      const isUsed = this.#present(packet, track);
      if (kind === 'audio') this.#silence.add(track, packet, shownS, isUsed);
    }
    this.#writeGaps();
  }

  /** Writes a packet of the source, or audio made from it, to its rendition. @returns whether it could be used */
  #present(packet: Packet, track: Track): boolean {
    const isLeader = track.kind === this.#leader?.track.kind;
    if (!isLeader) this.#marker.pass(packet.pts / track.timescale);
    const marked = isLeader ? this.#marker.mark(packet, track) : packet;
    const written = marked && (track.kind === 'video' ? this.#video : this.#audio).packet(marked);
    return written !== undefined;
  }

  /** Writes gaps where packets are known to be missing, and where audio is missing beside the video. */
  #writeGaps(): void {
    const { video, audio } = this.#reachedS;
    const untilS = Math.max(video, audio) - BEHIND_S;
    this.#transcoded.fillUntil(untilS);
    const audioUntilS = untilS - this.#interleaver.audioLateS;
    if (this.#audio.isInterrupted) {
      // Audio that leads and comes from the transcoder begins no segments while it is missing.
      if (this.#leader?.track.kind === 'audio') this.#marker.pass(untilS);
      this.#audio.fillUntil(audioUntilS);
    } else if (audioUntilS > audio && this.#selected.audio !== undefined) {
      // Publishers with few frames send the audio of each frame with the next one.
      this.#audio.fillUntil(audioUntilS - 2 * (this.#hold?.stepS ?? 0));
    }
  }

  /**
   * Writes gaps for every rendition while no media is received. Those of transcoded renditions are written a little later, because the
   * transcoder may still hand out packets that it held when media stopped.
   * @param audioLateS how much later than the video of the same time the audio usually comes, in seconds
   */
  #writeAway(untilS: number, audioLateS = 0): void {
    this.#marker.pass(untilS);
    this.#video.fillUntil(untilS);
    this.#audio.fillUntil(untilS - (this.#isAudioEncoded ? BEHIND_S : 0) - audioLateS);
    this.#transcoded.fillUntil(untilS - BEHIND_S);
  }

  #onEncodedTrack(track: AudioTrack): void {
    this.#encodedAudio = track;
    this.#audio.setTrack({ type: 'track', track });
  }

  /** Takes audio from the transcoder. It comes later than it was sent, and is marked now. */
  #onEncodedAudio(packet: Packet): void {
    if (this.#isAudioEncoded && this.#encodedAudio !== undefined) this.#present(packet, this.#encodedAudio);
  }

  /** Holds the last frame where audio comes without video. */
  #holdFrame(track: Track, dtsS: number, shownS: number): void {
    if (track.kind === 'video') {
      this.#hold ??= new FrameHold(shownS, track.declaredFrameRate ?? USUAL_FRAME_RATE);
      this.#holdAt(this.#hold.sawFrame(dtsS, shownS));
    } else if (this.#hold !== undefined) this.#holdAt(this.#hold.passed(shownS));
  }

  /** Holds the last frame while a source without audio sends nothing. For a moment, a stalled network looks the same. */
  #holdWithoutAudio(timeline: Timeline): void {
    if (this.#selected.audio !== undefined || this.#hold === undefined) return;
    const nowS = timeline.leaderSeconds(this.#elapsedS());
    if (nowS !== undefined) this.#holdAt(this.#hold.passed(nowS - SILENT_PAUSE_S));
  }

  /** @param timesS the times at which the last frame is still shown, in seconds of session time */
  #holdAt(timesS: readonly number[]): void {
    const { video } = this.#selected;
    if (video === undefined) return;
    for (const atS of timesS) {
      this.#marker.pass(atS);
      this.#video.hold(ticks(Math.round(atS * video.track.timescale)));
    }
  }

  /** The present session time, in seconds. */
  #elapsedS(): number {
    return (this.#options.clock.monotonic() - this.#options.startedAt) / 1000;
  }

  /** Whether media may start now: not while it is too far ahead of the clock, and not too often. */
  #mayStart(): boolean {
    const elapsedS = this.#elapsedS();
    if (elapsedS < this.#notBeforeS) return false;
    const startS = this.#startS(elapsedS);
    if (startS > elapsedS + MAX_AHEAD_S) {
      this.#notBeforeS = startS;
      return false;
    }
    const answer = this.#starts.next(this.#options.clock.monotonic() / 1000);
    if (answer === 'give_up') this.#options.onUnusableTimestamps();
    return answer === 'start';
  }

  /** The session time, in seconds, of media that starts now: that of the wall clock, but after everything written before. */
  #startS(elapsedS: number): number {
    if (this.#progress.type !== 'stopped') return elapsedS;
    return Math.max(elapsedS, this.#progress.endS + Math.min(LAST_FRAME_S, this.#hold?.stepS ?? 0));
  }

  /** Places the leader's first keyframe of a connection, or after a jump, by the wall clock. */
  #start(leader: SelectedTrack, packet: Packet): void {
    const elapsedS = this.#elapsedS();
    const startS = this.#startS(elapsedS);
    if (this.#progress.type === 'stopped') {
      // VLC 3.0.24 stops for good at a discontinuity, because it does not load the init segment again. A publisher that comes back with the
      // tracks of the media written last needs none.
      const isUnchanged = this.#isNewPublisher && haveSameTracks(this.#progress.tracks, this.#selected);
      if (isUnchanged) this.#marker.interrupt();
      else this.#marker.discontinue();
    }
    this.#isNewPublisher = false;
    this.#progress = { type: 'running', timeline: new Timeline(leader, packet, startS) };
    this.#placedS = elapsedS;
    this.#reachedS = { video: startS, audio: startS };
    this.#hold = undefined;
    this.#interleaver = new Interleaver();
    this.#source.restart();
    this.#silence.restart();
    this.#options.onStart();
  }

  /** Continues at the next keyframe, after a discontinuity, because the leader's timestamps jumped. */
  #jump(selected: SelectedTrack, packet: Packet): void {
    this.#warnOfJump(packet);
    this.stop();
    if (packet.keyframe) this.#place(selected, packet);
  }

  /** Continues after a discontinuity when the wall clock has caught up with the leader, which is too far ahead of it. */
  #waitForClock(packet: Packet): void {
    this.#warnOfJump(packet);
    this.stop();
    if (this.#progress.type === 'stopped') this.#notBeforeS = this.#progress.endS;
  }

  #warnOfJump({ kind, dts }: Packet): void {
    const code = 'timestamps_jumped';
    this.#options.warnings.raise({ code });
    this.#jumpLine.happened({ code, kind, dts });
  }

  #warnOfPlayability(track: VideoTrack): void {
    const code = 'source_not_widely_playable';
    const properties = unplayableProperties(track);
    if (properties.length === 0) this.#options.warnings.clear(code);
    else this.#options.warnings.raise({ code, properties });
  }

  #warnOfKeyframes(): void {
    const code = 'keyframe_interval_too_long';
    const { targetDurationS, warnings, logger } = this.#options;
    const interval = this.#source.keyframeInterval;
    if (!isTooLong(interval, targetDurationS) || !warnings.raise({ code, ...interval })) return;
    logger.warn({ code }, `no keyframe within ${targetDurationS} s: set the encoder's keyframe interval to 2 s`);
  }

  /** Notes a packet that comes before the keyframe with which media can start. */
  #awaitKeyframe(): void {
    const elapsedS = this.#elapsedS();
    this.#awaitedFromS ??= elapsedS;
    this.#warnOfNoKeyframe({ intervalS: elapsedS - this.#awaitedFromS, open: true });
  }

  /** Warns of a source that cannot be shown, because no keyframe has come for a while. */
  #warnOfNoKeyframe({ intervalS, open }: KeyframeInterval): void {
    const code = 'keyframe_interval_too_long';
    const elapsedS = this.#elapsedS();
    if (!open || intervalS < KEYFRAME_WITHIN_S || elapsedS < this.#warnNotBeforeS) return;
    this.#warnNotBeforeS = elapsedS + KEYFRAME_WITHIN_S;
    if (!this.#options.warnings.raise({ code, intervalS, open })) return;
    this.#options.logger.warn({ code }, `nothing is shown: the source has sent no keyframe for ${KEYFRAME_WITHIN_S} s`);
  }
}

function haveSameTracks(before: SelectedTracks, after: SelectedTracks): boolean {
  const isSame = (a: SelectedTrack | undefined, b: SelectedTrack | undefined) =>
    a === undefined || b === undefined ? a === b : sameTrack(a.track, b.track);
  return isSame(before.video, after.video) && isSame(before.audio, after.audio);
}

/**
 * Whether a track is encoded in another codec for viewers. Audio is always AAC for them, the only audio codec that all HLS players support.
 */
function needsEncoding(track: Track): boolean {
  return track.kind === 'audio' && track.codec !== 'aac';
}

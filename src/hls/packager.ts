/**
 * The packager: makes the parts and segments of one rendition from its sequence.
 */
import { type Milliseconds, ticks } from '#lib/units.ts';
import { silentFrame } from '#media/codecs/aac-silence.ts';
import { fragment } from '#media/mp4/fragment.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import type { GapEvent, HeldEvent } from '#media/session-event.ts';
import { sameTrack, type Track } from '#media/track.ts';
import { FrameRateMeter } from './frame-rate-meter.ts';
import { type MediaResource, type Packaged, TARGET_ROUNDING_S } from './hls.ts';
import { type InitSegmentOutput, InitSegments } from './init-segments.ts';
import { PartBuilder, type PartSample } from './part-builder.ts';
import { type Segment, Window, type WindowLimits } from './window.ts';

/** The output of a packager. */
export interface PackagerOutput extends InitSegmentOutput {
  /** Takes memory. When it is refused, the part is dropped. */
  reserve(sizeBytes: number): boolean;
}

/** The options of a packager. */
export interface PackagerOptions extends WindowLimits {
  readonly epoch: Milliseconds;
  readonly firstMediaSequence: number;
  readonly firstDiscontinuitySequence: number;
  readonly output: PackagerOutput;
}

/** The shortest duration of a segment, because EXTINF must not be 0. */
const SHORTEST_SEGMENT_S = 0.001;
/** The least time that stays unfilled where only full parts are made, so that no short part ends the segment (see `plannedParts`). */
const LEFT_OUT_S = 0.15;

/** The newest video sample. It is written when the next one comes, because only then its duration is known. */
type Shown =
  | { readonly type: 'frame'; readonly packet: Packet }
  /** The newest keyframe once more, in place of frames that did not come. What follows cannot be decoded before the next keyframe. */
  | { readonly type: 'repeat'; readonly packet: Packet };

/**
 * Turns the sequence of a rendition into a window of segments and parts. It follows the marks of the sequence, decides where a part
 * ends, and keeps a segment within the target duration. Only what is left at the end of a rendition becomes a segment without a mark.
 * Everything it lists can be played: where media is missing, the newest keyframe is repeated, and audio is silent.
 */
export class Packager {
  readonly window: Window;
  readonly #options: PackagerOptions;
  #track: Track;
  /** The init segments. While a new configuration is coming, packets are dropped until a segment begins with it. */
  readonly #inits: InitSegments;
  #parts: PartBuilder;
  /** Undefined for audio. Each new configuration gets a new meter. */
  #frameRate: FrameRateMeter | undefined;
  #shown: Shown | undefined;
  /** The newest keyframe of the current configuration. */
  #keyframe: Uint8Array | undefined;
  /** The end of all media with known durations. */
  #endTicks = 0;
  /**
   * The offset from decoding to presentation time: the smallest of the keyframes since a discontinuity. A keyframe of an open GOP is
   * followed by frames that are shown before it, and a segment begins with the frame that is shown first.
   */
  #compositionTicks = 0;
  /** The presentation time of the newest keyframe. */
  #keyframeTicks = Number.NEGATIVE_INFINITY;
  #hasOpenGops = false;
  #fragments = 0;
  /** The name that playlists have announced for the next part. The next part must get it, whatever segment it is in. */
  #announcedPart: string | undefined;

  constructor(track: Track, options: PackagerOptions) {
    this.#track = track;
    this.#options = options;
    this.window = new Window(options);
    this.#inits = new InitSegments(options.output);
    this.#parts = this.#buildParts(track);
    this.#frameRate = frameRateMeterOf(track);
  }

  /** The track that is packaged. */
  get track(): Track {
    return this.#track;
  }

  /** Whether a segment has begun, so that playlists have something to list now or soon. */
  get started(): boolean {
    return this.window.segments.length > 0;
  }

  /** The end of everything written, in seconds of session time. For the last video frame it is an estimate. */
  get endS(): number {
    const shownEnd = this.#shown === undefined ? 0 : this.#shown.packet.dts + this.#parts.frameTicks;
    return Math.max(this.#endTicks, shownEnd) / this.#track.timescale;
  }

  /** {@link endS} in presentation time, which is later where frames are reordered. */
  get shownEndS(): number {
    return this.endS + this.#compositionTicks / this.#track.timescale;
  }

  /** The duration of a frame in seconds: an estimate, and at most that of a part. */
  get frameS(): number {
    return Math.min(this.#parts.frameTicks / this.#track.timescale, this.partTargetS ?? Number.POSITIVE_INFINITY);
  }

  /** PART-TARGET in seconds. Undefined until the first part, or the second if the first is a single frame. Constant from then on. */
  get partTargetS(): number | undefined {
    return this.#parts.partTargetS;
  }

  /** The frame rate to announce. Undefined for audio, and while it is not known; see {@link FrameRateMeter}. */
  get framesPerSecond(): number | undefined {
    return this.#frameRate?.framesPerSecond;
  }

  /**
   * Whether a frame that follows a keyframe is shown before it, as in an open GOP. Such frames may need frames from before the keyframe, so
   * segments may not be independent although they begin with a keyframe.
   */
  get hasOpenGops(): boolean {
    return this.#hasOpenGops;
  }

  /** The name of the next part, for EXT-X-PRELOAD-HINT. From this call on the name is fixed. */
  announcePart(): string {
    this.#announcedPart ??= this.#nextPartName();
    return this.#announcedPart;
  }

  /** The name of an init segment that no listed segment uses yet, but the next one will. */
  get announcedInit(): string | undefined {
    const listed = this.window.segments.findLast(({ parts }) => parts.length > 0);
    const { current, next } = this.#inits;
    return current === listed?.init ? next?.name : current;
  }

  /** The init segments of the current and the coming configuration, as they were packaged. */
  get inits(): readonly Packaged[] {
    return this.#inits.made;
  }

  /** Takes the configuration of the following packets. It applies from the next segment on. Packets before that are dropped. */
  setTrack(track: Track): void {
    this.#inits.drop();
    if (!this.started) {
      this.#track = track;
      this.#parts = this.#buildParts(track);
      this.#frameRate = frameRateMeterOf(track);
    } else if (!sameTrack(track, this.#track)) {
      this.#inits.prepare(track, this.#lastMsn + 1);
    }
  }

  /** Takes a packet. It is dropped when no segment has begun, or when it is not later than the previous one. */
  packet(packet: Packet): void {
    // A rendition that ended and begins again at once waits for the segment after the one that its end used.
    if (packet.mark !== undefined && this.#options.firstMediaSequence + packet.mark.ordinal <= this.#lastMsn) return;
    const { next } = this.#inits;
    if (packet.mark !== undefined && next !== undefined) this.#adoptTrack(next.track, packet);
    else if (next !== undefined || (packet.mark === undefined && this.window.open === undefined)) return;
    if (packet.kind === 'video') this.#writeVideo(packet);
    else this.#writeAudio(packet);
  }

  /** Notes that the last frame is still shown. A segment that begins in the meantime repeats the newest keyframe. */
  hold({ pts, mark }: HeldEvent): void {
    if (mark !== undefined && this.started) this.#repeatFrom(pts - this.#compositionTicks, mark);
  }

  /** Notes that media is missing, and fills its time. */
  gap({ fromS, untilS, why, mark }: GapEvent): void {
    if (!this.started) return;
    const { timescale } = this.#track;
    const { output } = this.#options;
    const untilTicks = Math.round(untilS * timescale) - this.#compositionTicks;
    if (mark !== undefined) {
      const startTicks = Math.round(fromS * timescale) - this.#compositionTicks;
      this.#fill(startTicks);
      this.#flush();
      this.#cut({ ...mark, independent: true }, this.#continued(startTicks));
      output.packaged({ type: 'gap', fromS, untilS, why });
      // A segment has at least one sample.
      const leastTicks = this.#track.kind === 'audio' ? this.#parts.frameTicks : SHORTEST_SEGMENT_S * timescale;
      this.#fill(this.#endTicks + leastTicks);
    } else {
      output.packaged({ type: 'gap', fromS, untilS, why });
    }
    this.#fill(untilTicks, { whole: true });
  }

  /** See {@link PartBuilder.settle}. */
  settle(): void {
    this.#parts.settle();
  }

  /** Ends the growing part and segment. */
  closeSegment(): void {
    this.#flush();
    this.#completeSegment();
  }

  /**
   * Ends the track. Media that is in no part yet becomes a segment of its own, with the next number. Otherwise video.js 8.24, which has loaded
   * some parts of the last segment, would not load the rest once it sees EXT-X-ENDLIST without parts, and would never fire `ended`. The last
   * frame is shown until `untilS`. Where the growing segment has no part yet, its media except the last frame becomes its first part. If no
   * frame is left, the newest keyframe or silence is written, because the announced part must exist.
   * @param untilS session time in seconds, the same for all tracks that end together: hls.js does not fire `ended` when the middle of the
   *   last part of one track is after the end of another
   */
  end(untilS: number): void {
    // Shaka 5.2 may be loading the announced part when the session ends. It then continues with the next segment, and waits for ever when
    // there is none. A single frame stays in its segment, because video.js 8.24 may not end after a segment that only repeats a keyframe.
    if (this.window.open?.parts.length === 0) this.#parts.finish();
    const first = this.#parts.first ?? this.#shown?.packet;
    const { open } = this.window;
    if (open !== undefined && open.parts.length > 0) {
      const startTicks = first?.dts ?? this.#endTicks;
      this.#completeSegment(startTicks);
      this.#begin(startTicks, {
        msn: open.msn + 1,
        discontinuity: false,
        discontinuitySequence: open.discontinuitySequence + Number(open.discontinuity),
        independent: first?.keyframe ?? true,
      });
    }
    const untilTicks = Math.round(untilS * this.#track.timescale) - this.#compositionTicks;
    const last = this.#shown?.packet;
    this.#shown = undefined;
    if (last === undefined) {
      this.#fill(untilTicks);
    } else {
      // A B-frame lasts no longer than its part allows, because as a part of its own it would follow a frame that is shown later.
      const isReordered = last.pts - last.dts !== this.#compositionTicks;
      const mostTicks = isReordered ? this.#parts.leftTicks : this.#parts.longestTicks;
      const lastsTicks = Math.max(this.#parts.frameTicks, Math.min(untilTicks - last.dts, mostTicks));
      this.#push(last, this.#upToSegmentEnd(last.dts, lastsTicks));
    }
    this.closeSegment();
    this.settle();
  }

  get #lastMsn(): number {
    return this.window.segments.at(-1)?.msn ?? this.#options.firstMediaSequence - 1;
  }

  #buildParts(track: Track): PartBuilder {
    return new PartBuilder(track, (samples, durationTicks) => this.#addPart(samples, durationTicks));
  }

  /** Writes what is left of the old configuration, to which all media before the mark belongs, and takes the new one. */
  #adoptTrack(track: Track, first: Packet): void {
    this.#pushShown(first.dts, first.mark);
    // The rest of the old configuration's time is filled: in audio with silence, in video with its keyframe if no discontinuity follows.
    if (first.kind === 'audio' || !first.mark?.discontinuity) {
      this.#fill(Math.round((first.dts * this.#track.timescale) / track.timescale));
    }
    this.#parts.finish();
    this.#endTicks = Math.round((this.#endTicks * track.timescale) / this.#track.timescale);
    this.#parts.setTrack(track);
    this.#frameRate = frameRateMeterOf(track);
    this.#track = track;
    this.#keyframe = undefined;
    this.#inits.adopt();
  }

  #writeVideo(packet: Packet): void {
    const { mark, pts, keyframe } = packet;
    // After a fill, and where a smaller rendition begins to stand in, the decoding time may be before the end of what was written.
    const dts = this.#shown === undefined ? ticks(Math.min(pts, Math.max(packet.dts, this.#endTicks))) : packet.dts;
    if (this.#shown?.type === 'repeat' && !keyframe) {
      if (mark !== undefined) this.#repeatFrom(dts, mark);
      return;
    }
    if (dts <= (this.#shown?.packet.dts ?? -1)) return;
    if (this.#shown === undefined) this.#fill(dts);
    this.#pushShown(dts, mark);
    if (keyframe) {
      const begins = this.#keyframe === undefined || mark?.discontinuity;
      this.#compositionTicks = begins ? pts - dts : Math.min(this.#compositionTicks, pts - dts);
      this.#keyframe = packet.data;
      this.#keyframeTicks = pts;
    } else if (pts < this.#keyframeTicks) {
      this.#hasOpenGops = true;
    }
    if (mark !== undefined) this.#cut(mark, dts);
    this.#shown = { type: 'frame', packet: dts === packet.dts ? packet : { ...packet, dts } };
  }

  /** Begins a segment with the newest keyframe. */
  #repeatFrom(startTicks: number, mark: SegmentMark): void {
    const data = this.#keyframe;
    if (data === undefined) return;
    this.#pushShown(startTicks, mark);
    this.settle();
    const dts = ticks(Math.max(startTicks, this.#endTicks));
    this.#cut({ ...mark, independent: true }, dts);
    const packet = { kind: 'video', dts, pts: ticks(dts + this.#compositionTicks), keyframe: true, data } as const;
    this.#shown = { type: 'repeat', packet };
  }

  /** Writes the newest video sample, whose duration is known now. */
  #pushShown(nextTicks: number, mark: SegmentMark | undefined): void {
    const packet = this.#shown?.packet;
    this.#shown = undefined;
    if (packet === undefined) return;
    const apart = nextTicks - packet.dts;
    // The time until a discontinuity is not the duration of the frame before it.
    const lasts = mark?.discontinuity ? Math.min(apart, this.#parts.frameTicks) : apart;
    this.#push(packet, mark === undefined ? lasts : this.#upToSegmentEnd(packet.dts, lasts));
  }

  #writeAudio(packet: Packet): void {
    const { mark } = packet;
    // Players take a hole for missing media: hls.js 1.7 does not fire `ended` while there is one in its buffer.
    this.#fill(packet.dts);
    const dts = ticks(this.#continued(packet.dts));
    if (mark !== undefined) this.#cut(mark, dts);
    this.#push({ ...packet, dts, pts: dts }, this.#parts.frameTicks);
  }

  /** The decoding time at which media begins after everything written. Audio that is less than half a frame late follows without a hole. */
  #continued(dts: number): number {
    const isNext = this.started && this.#track.kind === 'audio' && dts - this.#endTicks <= this.#parts.frameTicks / 2;
    return isNext ? this.#endTicks : Math.max(dts, this.#endTicks);
  }

  /**
   * Fills the growing segment up to a decoding time, but never makes it too long.
   * @param whole makes only full parts, and leaves out the rest, because more will follow
   */
  #fill(untilTicks: number, { whole = false } = {}): void {
    const { open } = this.window;
    const limit =
      open === undefined ? 0 : Math.min(untilTicks, Math.floor(this.#latestEndS(open) * this.#track.timescale));
    if (this.#track.kind === 'audio') this.#fillAudio(limit, silentFrame(this.#track), whole);
    else if (this.#keyframe !== undefined) this.#fillVideo(limit, this.#keyframe, whole);
  }

  /** Fills with video: the last frame lasts as long as a part may, and the newest keyframe is repeated once per part for the rest. */
  #fillVideo(limit: number, data: Uint8Array, whole: boolean): void {
    const packet = this.#shown?.packet;
    if (packet !== undefined) {
      const room = Math.max(this.#parts.frameTicks, this.#parts.roomTicks);
      if (limit <= packet.dts + this.#parts.frameTicks) return; // the duration of the last frame is only estimated, and the next one may still come
      this.#shown = undefined;
      this.#push(packet, Math.min(room, limit - packet.dts));
    }
    this.#parts.finish();
    this.settle();
    const { longestTicks } = this.#parts;
    const leastTicks = whole ? longestTicks + LEFT_OUT_S * this.#track.timescale : 1;
    while (this.#endTicks + leastTicks <= limit) {
      const dts = ticks(this.#endTicks);
      const durationTicks = partSize(limit - dts, longestTicks, whole);
      this.#push({ dts, pts: ticks(dts + this.#compositionTicks), keyframe: true, data }, durationTicks, true);
      this.#parts.finish();
    }
  }

  /** Fills with silence, which completes the growing part first. */
  #fillAudio(limit: number, data: Uint8Array, whole: boolean): void {
    const { frameTicks, longestTicks } = this.#parts;
    let left = Math.floor((limit - this.#endTicks) / frameTicks + 0.5);
    while (left > 0) {
      const growingTicks = longestTicks - this.#parts.leftTicks;
      const restTicks = growingTicks + limit - this.#endTicks;
      if (whole && restTicks < longestTicks + LEFT_OUT_S * this.#track.timescale) return;
      const sizeTicks = partSize(restTicks, longestTicks, whole);
      const fitting = Math.floor((sizeTicks - growingTicks) / frameTicks);
      // A part has at least one frame, also after a change to longer frames.
      let frames = sizeTicks === restTicks ? left : Math.max(growingTicks > 0 ? 0 : 1, fitting);
      for (; frames > 0; frames--, left--) {
        const dts = ticks(this.#endTicks);
        // A remainder shorter than a frame makes the last one longer.
        const durationTicks = left === 1 ? Math.max(frameTicks, limit - dts) : frameTicks;
        this.#push({ dts, pts: dts, keyframe: true, data }, durationTicks, true);
      }
      if (left > 0) this.#parts.finish();
    }
  }

  #flush(): void {
    const packet = this.#shown?.packet;
    this.#shown = undefined;
    // The duration remains an estimate.
    if (packet !== undefined) this.#push(packet, this.#upToSegmentEnd(packet.dts, this.#parts.frameTicks));
    this.#parts.finish();
  }

  #push({ dts, pts, keyframe, data }: Omit<Packet, 'kind'>, durationTicks: number, isFilling = false): void {
    this.#endTicks = dts + durationTicks;
    if (!isFilling) this.#frameRate?.add(durationTicks);
    this.#parts.push({ dts, pts, durationTicks, keyframe, data, isFilling });
  }

  #addPart(samples: readonly PartSample[], durationTicks: number): void {
    const resource = resourceOf(this.#track, fragment(this.#track, ++this.#fragments, samples));
    const { pieces, sizeBytes } = resource;
    const { output } = this.#options;
    const { open } = this.window;
    if (open === undefined || !output.reserve(sizeBytes)) return;
    const name = this.#announcedPart ?? this.#nextPartName();
    this.#announcedPart = undefined;
    output.store(name, resource);
    const { timescale } = this.#track;
    const startTicks = samples[0]?.dts ?? 0;
    const independent = samples.some((sample) => sample.keyframe);
    const durationS = durationTicks / timescale;
    this.window.add({ name, durationS, independent, resource }, (startTicks + durationTicks) / timescale);
    const { msn, init, parts } = open;
    const index = parts.length;
    const startS = startTicks / timescale;
    const isFilling = samples.every((sample) => sample.isFilling);
    if (index === 0) output.packaged({ type: 'segment_start', ...headOf(open) });
    const content = { durationS, independent, isFilling, pieces, sizeBytes };
    output.packaged({ type: 'part', name, msn, index, init, startS, ...content });
  }

  #cut(mark: SegmentMark, startTicks: number): void {
    this.#parts.finish();
    // Media missing before the mark belongs to the previous segment, so that dates agree with durations.
    this.#completeSegment(mark.discontinuity ? undefined : startTicks);
    const { firstMediaSequence, firstDiscontinuitySequence } = this.#options;
    this.#endTicks = startTicks;
    this.#parts.beginSegment();
    this.#begin(startTicks, {
      msn: firstMediaSequence + mark.ordinal,
      discontinuity: mark.discontinuity,
      discontinuitySequence: firstDiscontinuitySequence + mark.discontinuitiesBefore,
      independent: mark.independent,
    });
  }

  #begin(
    startTicks: number,
    segment: Pick<Segment, 'msn' | 'discontinuity' | 'discontinuitySequence' | 'independent'>,
  ): void {
    const { timescale } = this.#track;
    const presentS = (startTicks + this.#compositionTicks) / timescale;
    this.window.begin({
      ...segment,
      startS: startTicks / timescale,
      programDateTimeMs: Math.round(this.#options.epoch + presentS * 1000),
      init: this.#inits.use(this.#track, segment.msn),
    });
  }

  /** The latest end of a segment whose duration still rounds to the target duration. */
  #latestEndS({ startS }: Segment): number {
    return startS + this.#options.targetDurationS + TARGET_ROUNDING_S;
  }

  /** Limits a duration so that the last frame does not make the segment too long. */
  #upToSegmentEnd(fromTicks: number, durationTicks: number): number {
    const { open } = this.window;
    const left = open === undefined ? 0 : Math.floor(this.#latestEndS(open) * this.#track.timescale) - fromTicks;
    return Math.max(1, Math.min(durationTicks, left));
  }

  #completeSegment(byTicks = 0): void {
    const { open } = this.window;
    if (open === undefined) return;
    const endS = Math.max(open.endS, open.startS + SHORTEST_SEGMENT_S, byTicks / this.#track.timescale);
    const complete = this.window.complete(open, Math.max(open.endS, Math.min(endS, this.#latestEndS(open))));
    const pieces = complete.parts.flatMap(({ resource }) => resource.pieces);
    this.#options.output.store(segmentName(complete.msn), resourceOf(this.#track, pieces));
    const durationS = complete.endS - complete.startS;
    const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.#options.output.packaged({ type: 'segment', ...headOf(complete), durationS, sizeBytes });
  }

  #nextPartName(): string {
    const { open } = this.window;
    return open === undefined ? partName(this.#lastMsn + 1, 0) : partName(open.msn, open.parts.length);
  }
}

/** The name of a segment's resource. */
export const segmentName = (msn: number): string => `${msn}.m4s`;
const partName = (msn: number, index: number): string => `${msn}.${index}.m4s`;

/** The size in ticks of the next part that fills a time. Two equal parts at the end are better than a full and a tiny one. */
function partSize(rest: number, most: number, whole: boolean): number {
  if (rest <= most) return rest;
  return !whole && rest < 2 * most ? Math.ceil(rest / 2) : most;
}

function frameRateMeterOf(track: Track): FrameRateMeter | undefined {
  return track.kind === 'video' ? new FrameRateMeter(track.declaredFrameRate) : undefined;
}

function headOf({ msn, init, startS, programDateTimeMs, discontinuity, independent }: Segment) {
  return { msn, init, startS, programDateTimeMs, discontinuity, independent };
}

function resourceOf(track: Track, pieces: readonly Uint8Array[]): MediaResource {
  const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { pieces, sizeBytes, contentType: `${track.kind}/mp4` };
}

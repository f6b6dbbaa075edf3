/**
 * The packager: makes the parts and segments of one rendition out of its packets.
 */
import { type Milliseconds, ticks } from '#lib/units.ts';
import { type FragmentSample, fragment } from '#media/mp4/fragment.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import { sameTrack, type Track } from '#media/track.ts';
import { type MediaResource, TARGET_ROUNDING_S } from './hls.ts';
import { type InitSegmentOutput, InitSegments } from './init-segments.ts';
import { PartBuilder } from './part-builder.ts';
import type { SegmentGrid } from './segment-grid.ts';
import { isGap, type Segment, Window, type WindowLimits } from './window.ts';

/** Where a packager puts what it made. */
export interface PackagerOutput extends InitSegmentOutput {
  /** Asks for memory; when refused, the part is dropped. */
  reserve(sizeBytes: number): boolean;
  /** Makes a resource fetchable. A name is never given twice. */
  store(name: string, resource: MediaResource): void;
  /** A segment is complete, and all of its media is there. */
  segmentDone(sizeBytes: number, durationS: number): void;
}

/** What a packager is made with. */
export interface PackagerOptions extends WindowLimits {
  readonly grid: SegmentGrid;
  readonly epoch: Milliseconds;
  readonly firstMediaSequence: number;
  readonly firstDiscontinuitySequence: number;
  readonly output: PackagerOutput;
}

/** Duration of a segment for which there is no media and no time at all; EXTINF 0 would be no segment. */
const SHORTEST_GAP_S = 0.001;

/**
 * Turns packets into a window of segments and parts. Does what the packets' marks say and decides only where a part
 * ends: a video frame's duration is known when the next one comes, audio's at once.
 */
export class Packager {
  readonly window: Window;
  readonly #options: PackagerOptions;
  #track: Track;
  /** The configuration packets have by now: nothing of it can be written until a mark comes. */
  #nextTrack: Track | undefined;
  readonly #inits: InitSegments;
  /** Ordinal of the segment opened last. */
  #ordinal: number | undefined;
  /** A mark whose packet was dropped: it holds for the next one. */
  #carriedMark: SegmentMark | undefined;
  /** A picture came too late: what follows cannot be decoded without it. */
  #needsKeyframe = false;
  /** The video packet whose duration is not known yet. */
  #pending: Packet | undefined;
  /** End of everything whose duration is known. */
  #endTicks = 0;
  /**
   * From decoding to presentation time: the least of the keyframes since a discontinuity. Behind one of an open group of pictures come
   * some that are shown before it, and a segment begins with what is shown first.
   */
  #compositionTicks = 0;
  #parts: PartBuilder;
  #fragments = 0;
  /** The name playlists have announced for the next part: it must get that one, whatever segment it comes to lie in. */
  #announcedPart: string | undefined;

  constructor(track: Track, options: PackagerOptions) {
    this.#track = track;
    this.#options = options;
    this.window = new Window(options);
    this.#inits = new InitSegments(options.output);
    this.#parts = this.#buildParts(track);
  }

  get track(): Track {
    return this.#track;
  }

  /** A segment was opened: playlists have something to say, or will soon. */
  get started(): boolean {
    return this.#ordinal !== undefined;
  }

  get ordinal(): number {
    return this.#ordinal ?? -1;
  }

  /** End of all that was written, in seconds of session time; for the last video frame a guess. */
  get endS(): number {
    const pendingEnd = this.#pending === undefined ? 0 : this.#pending.dts + this.#parts.frameTicks;
    return Math.max(this.#endTicks, pendingEnd) / this.#track.timescale;
  }

  /** The same as it is shown: renditions that reorder pictures decode them earlier than others. */
  get shownS(): number {
    return this.endS + this.#compositionS;
  }

  /** How long a frame lasts, in seconds: a guess, and no longer than a part. */
  get frameS(): number {
    return Math.min(this.#parts.frameTicks / this.#track.timescale, this.partTargetS ?? Number.POSITIVE_INFINITY);
  }

  /** PART-TARGET in seconds; undefined until the first part. Fixed from then on. */
  get partTargetS(): number | undefined {
    return this.#parts.partTargetS;
  }

  /** Measured over the first part; undefined before it and for audio. */
  get framesPerSecond(): number | undefined {
    return this.#parts.framesPerSecond;
  }

  /** Name of the next part, for EXT-X-PRELOAD-HINT. From this call on the name is settled. */
  announcePart(): string {
    this.#announcedPart ??= this.#nextPartName();
    return this.#announcedPart;
  }

  /** Name of an init segment that no listed segment uses yet, but the next one will. */
  get announcedInit(): string | undefined {
    const listed = this.window.segments.findLast(({ parts }) => parts.length > 0);
    const { current, next } = this.#inits;
    return current === listed?.init ? next : current;
  }

  /** Takes the configuration of the packets that follow. It holds from the next mark on; packets before that are dropped. */
  setTrack(track: Track): void {
    this.#inits.drop();
    this.#nextTrack = undefined;
    if (!this.started) {
      this.#track = track;
      this.#parts = this.#buildParts(track);
    } else if (!sameTrack(track, this.#track)) {
      this.#nextTrack = track;
      this.#inits.prepare(track, this.#msn(this.ordinal + 1));
    }
  }

  /**
   * Takes a packet. One that no mark has begun a segment for, or earlier than what is written, is dropped; behind a picture dropped
   * all are until the next keyframe.
   */
  write(packet: Packet): void {
    const mark = this.#takeMark(packet);
    if (mark !== undefined && this.#nextTrack !== undefined) this.#adoptTrack(packet, mark);
    if (this.#nextTrack !== undefined || (mark === undefined && this.window.open === undefined)) return;
    this.#needsKeyframe = this.#isBehindGap(packet) || (this.#needsKeyframe && !packet.keyframe);
    if (this.#needsKeyframe || packet.dts <= (this.#pending?.dts ?? -1)) {
      this.#carriedMark = mark;
      return;
    }
    const cut = mark ?? this.#overdueMark(packet);
    if (packet.kind === 'video') this.#writeVideo(packet, cut);
    else this.#writeAudio(packet, cut);
  }

  /**
   * Ends the growing part and segment.
   * @param byS session time at which something else begins: the last frame, whose duration is a guess, ends before
   */
  closeSegment(byS = Number.POSITIVE_INFINITY): void {
    this.#flush(byS);
    this.#completeSegment();
  }

  /** Adds gaps up to a session time as it is shown, beginning the segments that other renditions have begun meanwhile. */
  gapThrough(untilS: number, options?: { whole?: boolean }): void {
    for (;;) {
      const next = this.#options.grid.find(this.ordinal + 1);
      if (next === undefined || next.startS > untilS) break;
      const startS = next.startS - this.#compositionS;
      this.gapTo(startS);
      this.openGap(this.ordinal + 1, startS);
    }
    this.gapTo(untilS - this.#compositionS, options);
  }

  /**
   * Begins a segment that has nothing but gaps at first, where this rendition ends.
   * @param startS where it begins elsewhere: segments missing in between share the time until then
   */
  openGap(ordinal: number, startS: number): void {
    this.closeSegment();
    this.#skipTo(ordinal, Math.round(startS * this.#track.timescale));
    this.#open({ ordinal, independent: true, discontinuity: false }, this.#endTicks);
  }

  /**
   * Adds gap parts to the growing segment, up to a session time but never so many that it gets too long.
   * @param whole leaves out a last part shorter than the part target
   */
  gapTo(untilS: number, { whole = false } = {}): void {
    const { open } = this.window;
    if (open === undefined) return;
    const { timescale } = this.#track;
    const limitTicks = Math.round(Math.min(untilS, this.#latestEndS(open)) * timescale);
    const targetTicks = this.#parts.targetTicks;
    // How long the last frame lasts is guessed only where something follows: the next one may still come.
    if (Math.round(this.endS * timescale) + (whole ? targetTicks : 1) > limitTicks) return;
    this.#flush();
    while (this.#endTicks < limitTicks && !(whole && this.#endTicks + targetTicks > limitTicks)) {
      const durationTicks = Math.min(targetTicks, limitTicks - this.#endTicks);
      this.#endTicks += durationTicks;
      const durationS = durationTicks / timescale;
      const part = { name: this.#takePartName(), durationS, independent: false, resource: undefined };
      this.window.add(part, this.#endTicks / timescale);
    }
  }

  /** What is missing until a session time is lost: the last picture lasts as long as its part may, gaps take the rest. */
  lose(untilS: number): void {
    this.#pushLast();
    const holeTicks = Math.round(untilS * this.#track.timescale) - this.#endTicks;
    this.#endTicks += this.#parts.stretch(Math.min(holeTicks, this.#ticksLeft(this.#endTicks)));
    this.gapTo(untilS);
  }

  get #compositionS(): number {
    return this.#compositionTicks / this.#track.timescale;
  }

  #flush(byS?: number): void {
    this.#pushLast(byS);
    this.#parts.finish();
  }

  /** How long it lasts stays a guess. */
  #pushLast(byS = Number.POSITIVE_INFINITY): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined) return;
    const byTicks = Math.round(byS * this.#track.timescale);
    this.#push(pending, this.#upToSegmentEnd(pending, Math.min(this.#parts.frameTicks, byTicks - pending.dts)));
  }

  /** A segment's last frame may not make it too long. */
  #upToSegmentEnd({ dts }: Packet, durationTicks: number): number {
    return Math.max(1, Math.min(durationTicks, this.#ticksLeft(dts)));
  }

  #buildParts(track: Track): PartBuilder {
    return new PartBuilder(track, (samples, durationTicks) => this.#addPart(samples, durationTicks));
  }

  #takeMark(packet: Packet): SegmentMark | undefined {
    const carried = this.#carriedMark;
    this.#carriedMark = undefined;
    const mark = packet.mark ?? (carried && { ...carried, independent: packet.keyframe });
    if (mark === undefined || mark.ordinal <= this.ordinal) return undefined;
    return carried?.discontinuity ? { ...mark, discontinuity: true } : mark;
  }

  /**
   * The cut that did not come in time, because the track that decides on cuts has paused: without it EXTINF would exceed the
   * target duration. The mark still to come has the same ordinal, and is ignored.
   */
  #overdueMark(packet: Packet): SegmentMark | undefined {
    const { open } = this.window;
    const lastsTicks = packet.kind === 'audio' ? this.#parts.frameTicks : 0;
    if (open === undefined || this.#ticksLeft(packet.dts) >= lastsTicks) return undefined;
    return { ordinal: this.ordinal + 1, independent: packet.keyframe, discontinuity: false };
  }

  /** Everything before the mark was of the old configuration, and is finished with it. */
  #adoptTrack(first: Packet, mark: SegmentMark): void {
    if (this.#pending !== undefined) this.#pushPending(this.#pending, first, mark);
    this.#parts.finish();
    const track = this.#nextTrack ?? this.#track;
    this.#endTicks = Math.round((this.#endTicks * track.timescale) / this.#track.timescale);
    this.#parts.setTrack(track);
    this.#track = track;
    this.#inits.adopt();
    this.#nextTrack = undefined;
  }

  /** It came so late that a gap has taken its place. */
  #isBehindGap(packet: Packet): boolean {
    // Timestamps from RTMP are whole milliseconds, so consecutive audio packets may seem to overlap a little.
    const tolerance = this.#track.kind === 'audio' ? this.#parts.frameTicks / 2 : 0;
    return this.started && this.#pending === undefined && packet.dts < this.#endTicks - tolerance;
  }

  #writeVideo(packet: Packet, mark: SegmentMark | undefined): void {
    if (this.#pending !== undefined) this.#pushPending(this.#pending, packet, mark);
    else if (mark === undefined) this.gapTo(packet.dts / this.#track.timescale, { whole: true });
    if (packet.keyframe) {
      const ticksApart = packet.pts - packet.dts;
      const begins = !this.started || mark?.discontinuity;
      this.#compositionTicks = begins ? ticksApart : Math.min(this.#compositionTicks, ticksApart);
    }
    if (mark !== undefined) this.#cut(mark, packet.dts);
    this.#pending = packet;
  }

  /** How long a frame lasts is known when the next one comes. */
  #pushPending(pending: Packet, next: Packet, mark: SegmentMark | undefined): void {
    this.#pending = undefined;
    const apart = next.dts - pending.dts;
    // The time until a discontinuity is not how long the frame before it lasts.
    const lasts = mark?.discontinuity ? Math.min(apart, this.#parts.frameTicks) : apart;
    this.#push(pending, mark === undefined ? lasts : this.#upToSegmentEnd(pending, lasts));
  }

  #writeAudio(packet: Packet, mark: SegmentMark | undefined): void {
    const hole = packet.dts - this.#endTicks;
    const continues = this.started && Math.abs(hole) <= this.#parts.frameTicks / 2 && !mark?.discontinuity;
    const dts = ticks(continues ? this.#endTicks : Math.max(packet.dts, this.#endTicks));
    if (!continues && !mark?.discontinuity) {
      this.#endTicks += this.#parts.stretch(Math.min(hole, this.#ticksLeft(this.#endTicks)));
    }
    if (mark !== undefined) this.#cut(mark, dts);
    this.#push({ ...packet, dts, pts: dts }, this.#parts.frameTicks);
  }

  #push({ dts, pts, keyframe, data }: Packet, durationTicks: number): void {
    this.#endTicks = dts + durationTicks;
    this.#parts.push({ dts, pts, durationTicks, keyframe, data });
  }

  #addPart(samples: readonly FragmentSample[], durationTicks: number): void {
    const bytes = fragment(this.#track, ++this.#fragments, samples);
    const { output } = this.#options;
    if (!output.reserve(bytes.length)) return;
    const resource = resourceOf(this.#track, [bytes]);
    const name = this.#takePartName();
    output.store(name, resource);
    const { timescale } = this.#track;
    const endTicks = (samples[0]?.dts ?? 0) + durationTicks;
    const independent = samples.some((sample) => sample.keyframe);
    this.window.add({ name, durationS: durationTicks / timescale, independent, resource }, endTicks / timescale);
  }

  #cut(mark: SegmentMark, startTicks: number): void {
    this.#parts.finish();
    const { open } = this.window;
    if (open !== undefined && open.parts.at(-1)?.resource === undefined) {
      const startS = startTicks / this.#track.timescale;
      if (mark.discontinuity || startS <= this.#latestEndS(open)) this.gapTo(startS);
      else this.gapThrough(startS + this.#compositionS);
    }
    if (mark.ordinal <= this.ordinal) return;
    // What was lost before the cut belongs to the segment it was lost from, so that dates follow durations.
    this.#completeSegment(mark.discontinuity || mark.ordinal > this.ordinal + 1 ? undefined : startTicks);
    if (this.started) this.#skipTo(mark.ordinal, startTicks);
    this.#open(mark, startTicks);
  }

  /** A segment that ended later would not round to the target duration. */
  #latestEndS({ startS }: Segment): number {
    return startS + this.#options.targetDurationS + TARGET_ROUNDING_S;
  }

  /** Puts a gap segment for every ordinal this rendition has nothing for, so that all renditions stay aligned. */
  #skipTo(ordinal: number, startTicks: number): void {
    for (let missing = this.ordinal + 1; missing < ordinal; missing += 1) {
      const { timescale } = this.#track;
      const share = Math.max(0, startTicks - this.#endTicks) / (ordinal - missing);
      const untilS = (this.#endTicks + Math.max(share, SHORTEST_GAP_S * timescale)) / timescale;
      this.#open({ ordinal: missing, independent: true, discontinuity: false }, this.#endTicks);
      this.gapTo(untilS);
      this.#completeSegment();
    }
  }

  #open(mark: SegmentMark, startTicks: number): void {
    const { grid, epoch, firstDiscontinuitySequence } = this.#options;
    const msn = this.#msn(mark.ordinal);
    const { timescale } = this.#track;
    const startS = startTicks / timescale;
    const presentS = startS + this.#compositionS;
    const { discontinuity } = grid.at(mark.ordinal, { startS: presentS, discontinuity: mark.discontinuity });
    this.#ordinal = mark.ordinal;
    this.#endTicks = startTicks;
    this.window.begin(
      {
        msn,
        startS,
        programDateTimeMs: Math.round(epoch + presentS * 1000),
        discontinuity,
        independent: mark.independent,
        init: this.#inits.use(this.#track, msn),
      },
      firstDiscontinuitySequence + grid.discontinuitiesBefore(mark.ordinal),
    );
  }

  #ticksLeft(fromTicks: number): number {
    const { open } = this.window;
    return open === undefined ? 0 : Math.floor(this.#latestEndS(open) * this.#track.timescale) - fromTicks;
  }

  #completeSegment(byTicks = 0): void {
    const { open } = this.window;
    if (open === undefined) return;
    const endS = Math.max(open.endS, open.startS + SHORTEST_GAP_S, byTicks / this.#track.timescale);
    this.window.complete(Math.max(open.endS, Math.min(endS, this.#latestEndS(open))));
    if (isGap(open)) return;
    const pieces = open.parts.flatMap((part) => part.resource?.pieces ?? []);
    const resource = resourceOf(this.#track, pieces);
    this.#options.output.store(segmentName(open.msn), resource);
    this.#options.output.segmentDone(resource.sizeBytes, open.endS - open.startS);
  }

  #takePartName(): string {
    const name = this.#announcedPart ?? this.#nextPartName();
    this.#announcedPart = undefined;
    return name;
  }

  #nextPartName(): string {
    const { open } = this.window;
    return open === undefined ? partName(this.#msn(this.ordinal + 1), 0) : partName(open.msn, open.parts.length);
  }

  #msn(ordinal: number): number {
    return this.#options.firstMediaSequence + ordinal;
  }
}

/** Name of a segment's resource. */
export const segmentName = (msn: number): string => `${msn}.m4s`;
const partName = (msn: number, index: number): string => `${msn}.${index}.m4s`;

function resourceOf(track: Track, pieces: readonly Uint8Array[]): MediaResource {
  const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { pieces, sizeBytes, contentType: `${track.kind}/mp4` };
}

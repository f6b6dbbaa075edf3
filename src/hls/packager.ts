/**
 * The packager: makes the parts and segments of one rendition out of its packets.
 */
import { type Milliseconds, ticks } from '#lib/units.ts';
import { type FragmentSample, fragment } from '#media/mp4/fragment.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import { sameTrack, type Track, VIDEO_TIMESCALE } from '#media/track.ts';
import { framesPerPart, PART_LENGTH_S, partTargetMs, recogniseFrameRate } from './frame-rate.ts';
import type { MediaResource } from './hls.ts';
import type { SegmentGrid } from './segment-grid.ts';
import { isGap, type Segment, Window, type WindowLimits } from './window.ts';

/** Where a packager puts what it made. */
export interface PackagerOutput {
  /** Asks for memory; when refused, the part is dropped. */
  reserve(sizeBytes: number): boolean;
  /** Makes a resource fetchable. A name is never given twice. */
  store(name: string, resource: MediaResource): void;
  /** Takes back one that no playlist ever named. */
  discard(name: string): void;
  has(name: string): boolean;
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

/** Shortest part, as a share of the part target, unless an exception of §4.4.4.9 applies. */
const LEAST_PART = 0.85;
/** Timestamps that were rounded to milliseconds make a frame look up to this much longer or shorter. */
const JITTER_S = 0.001;
/** Duration of a frame before any was measured or declared. */
const FIRST_GUESS_S = 1 / 30;
/** How far a segment may exceed the target duration: EXTINF rounded to seconds must not (§4.4.3.1). */
const TARGET_ROUNDING_S = 0.49;
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
  #nextTrack: Track | undefined;
  /** Name of the init segment in use, or of the next one while `#nextTrack` waits for its mark. */
  #init: string | undefined;
  #nextInit: string | undefined;
  /** Ordinal of the segment opened last. */
  #ordinal: number | undefined;
  /** A mark whose packet came too late: it holds for the next one. */
  #carriedMark: SegmentMark | undefined;
  /** A new configuration's mark came too late to be obeyed: nothing can be written until the next mark. */
  #unreadable = false;
  #samples: FragmentSample[] = [];
  #samplesTicks = 0;
  /** The video packet whose duration is not known yet. */
  #pending: Packet | undefined;
  /** End of everything whose duration is known. */
  #endTicks = 0;
  /** How long the next frame will probably be. */
  #frameTicks: number;
  /** From decoding to presentation time, as at the last keyframe. */
  #compositionTicks = 0;
  #partTargetMs: number | undefined;
  #framesPerSecond: number | undefined;
  #fragments = 0;
  /** The name playlists have announced for the next part: it must get that one, whatever segment it comes to lie in. */
  #announcedPart: string | undefined;

  constructor(track: Track, options: PackagerOptions) {
    this.#track = track;
    this.#options = options;
    this.window = new Window(options);
    this.#frameTicks = frameTicksOf(track);
    if (track.kind === 'audio') {
      const rate = { framesPerSecond: track.timescale / track.samplesPerPacket, exact: true };
      this.#partTargetMs = partTargetMs(framesPerPart(rate.framesPerSecond), rate);
    }
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
    const pendingEnd = this.#pending === undefined ? 0 : this.#pending.dts + this.#frameTicks;
    return Math.max(this.#endTicks, pendingEnd) / this.#track.timescale;
  }

  /** PART-TARGET in seconds; undefined until the first part. Fixed from then on. */
  get partTargetS(): number | undefined {
    return this.#partTargetMs === undefined ? undefined : this.#partTargetMs / 1000;
  }

  /** Measured over the first part; undefined before it and for audio. */
  get framesPerSecond(): number | undefined {
    return this.#framesPerSecond;
  }

  /** Name of the next part, for EXT-X-PRELOAD-HINT. From this call on the name is settled. */
  announcePart(): string {
    this.#announcedPart ??= this.#nextPartName();
    return this.#announcedPart;
  }

  /** Name of an init segment that no listed segment uses yet, but the next one will. */
  get announcedInit(): string | undefined {
    const listed = this.window.segments.findLast(({ parts }) => parts.length > 0);
    return this.#nextInit ?? (this.#init === listed?.init ? undefined : this.#init);
  }

  /** Takes another configuration, from the next mark on. */
  setTrack(track: Track): void {
    if (this.#nextInit !== undefined) this.#options.output.discard(this.#nextInit);
    this.#nextInit = undefined;
    this.#nextTrack = undefined;
    if (!this.started) {
      this.#track = track;
      this.#frameTicks = frameTicksOf(track);
    } else if (!sameTrack(track, this.#track)) {
      this.#nextTrack = track;
      this.#nextInit = this.#storeInit(track, this.#msn(this.ordinal + 1));
    }
  }

  /** Takes a packet. One before the first mark, or earlier than what is written, is dropped. */
  write(packet: Packet): void {
    const mark = this.#takeMark(packet);
    if (mark !== undefined && this.#nextTrack !== undefined) this.#adoptTrack(packet);
    else if (packet.mark !== undefined) this.#unreadable = mark === undefined && this.#nextTrack !== undefined;
    if (this.#unreadable || (!this.started && mark === undefined)) return;
    if (this.#isLate(packet)) {
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

  /** Adds gaps up to a session time, beginning the segments that other renditions have begun meanwhile. */
  gapThrough(untilS: number, options?: { whole?: boolean }): void {
    for (;;) {
      const next = this.#options.grid.find(this.ordinal + 1);
      if (next === undefined || next.startS > untilS) break;
      this.gapTo(next.startS);
      this.openGap(this.ordinal + 1, next.startS);
    }
    this.gapTo(untilS, options);
  }

  /** Begins a segment that has nothing but gaps at first, closing the one before. */
  openGap(ordinal: number, startS: number): void {
    this.closeSegment();
    const startTicks = Math.round(startS * this.#track.timescale);
    this.#skipTo(ordinal, startTicks);
    this.#open({ ordinal, independent: true, discontinuity: false }, Math.max(startTicks, this.#endTicks));
  }

  /**
   * Adds gap parts to the growing segment, up to a session time but never so many that it gets too long.
   * @param whole leaves out a last part shorter than the part target
   */
  gapTo(untilS: number, { whole = false } = {}): void {
    this.#flush();
    const { open } = this.window;
    if (open === undefined) return;
    const { timescale } = this.#track;
    const limitTicks = Math.round(Math.min(untilS, this.#latestEndS(open)) * timescale);
    const targetTicks = this.#targetTicks();
    while (this.#endTicks < limitTicks && !(whole && this.#endTicks + targetTicks > limitTicks)) {
      const durationTicks = Math.min(targetTicks, limitTicks - this.#endTicks);
      this.#endTicks += durationTicks;
      const durationS = durationTicks / timescale;
      const part = { name: this.#takePartName(), durationS, independent: false, resource: undefined };
      this.window.add(part, this.#endTicks / timescale);
    }
  }

  #flush(byS = Number.POSITIVE_INFINITY): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) {
      const byTicks = Math.round(byS * this.#track.timescale);
      this.#push(pending, Math.max(1, Math.min(this.#frameTicks, byTicks - pending.dts)));
    }
    this.#closePart();
  }

  #takeMark(packet: Packet): SegmentMark | undefined {
    const carried = this.#carriedMark;
    this.#carriedMark = undefined;
    // A late keyframe took its segment's independence with it.
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
    const lastsTicks = packet.kind === 'audio' ? this.#frameTicks : 0;
    if (open === undefined || this.#ticksLeft(packet.dts) >= lastsTicks) return undefined;
    return { ordinal: this.ordinal + 1, independent: packet.keyframe, discontinuity: false };
  }

  /** Everything before the mark was of the old configuration, and is finished with it. */
  #adoptTrack(first: Packet): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) this.#push(pending, Math.max(1, Math.min(first.dts - pending.dts, this.#frameTicks)));
    this.#closePart();
    const track = this.#nextTrack ?? this.#track;
    this.#endTicks = Math.round((this.#endTicks * track.timescale) / this.#track.timescale);
    this.#frameTicks = frameTicksOf(track);
    this.#track = track;
    this.#init = this.#nextInit;
    this.#nextTrack = undefined;
    this.#nextInit = undefined;
    this.#unreadable = false;
  }

  #isLate(packet: Packet): boolean {
    if (!this.started) return false;
    if (this.#pending !== undefined) return packet.dts <= this.#pending.dts;
    // Timestamps from RTMP are whole milliseconds, so consecutive audio packets may seem to overlap a little.
    const tolerance = this.#track.kind === 'audio' ? this.#frameTicks / 2 : 0;
    return packet.dts < this.#endTicks - tolerance;
  }

  #writeVideo(packet: Packet, mark: SegmentMark | undefined): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) {
      const apart = packet.dts - pending.dts;
      // The time until a discontinuity is not how long the frame before it lasts; nor may it make a segment too long.
      const longest = mark?.discontinuity ? this.#frameTicks : mark && this.#ticksLeft(pending.dts);
      this.#push(pending, Math.max(1, Math.min(apart, longest ?? apart)));
    }
    if (packet.keyframe) this.#compositionTicks = packet.pts - packet.dts;
    if (mark !== undefined) this.#cut(mark, packet.dts);
    this.#pending = packet;
  }

  #writeAudio(packet: Packet, mark: SegmentMark | undefined): void {
    const hole = packet.dts - this.#endTicks;
    const continues = this.started && Math.abs(hole) <= this.#frameTicks / 2 && !mark?.discontinuity;
    const dts = ticks(continues ? this.#endTicks : Math.max(packet.dts, this.#endTicks));
    if (!continues && !mark?.discontinuity) this.#stretch(hole);
    if (mark !== undefined) this.#cut(mark, dts);
    this.#push({ ...packet, dts, pts: dts }, this.#frameTicks);
  }

  /** Lets the last sample last into a hole, as far as the part may go: a part too short breaks a rule, a pause does not. */
  #stretch(hole: number): void {
    const last = this.#samples.at(-1);
    if (last === undefined || hole <= 0) return;
    const extra = Math.min(hole, Math.max(0, this.#targetTicks() - this.#samplesTicks));
    this.#samples[this.#samples.length - 1] = { ...last, durationTicks: last.durationTicks + extra };
    this.#samplesTicks += extra;
    this.#endTicks += extra;
    if (extra < hole) this.#closePart();
  }

  #push({ dts, pts, keyframe, data }: Packet, durationTicks: number): void {
    // A frame longer than the part target becomes a part of its own with its true duration: a variable frame rate that
    // breaks PART-TARGET cannot be told before, and a false duration would put sound and picture apart.
    if (this.#samplesTicks + durationTicks > this.#targetTicks()) this.#closePart();
    this.#samples.push({ dts, pts, durationTicks, keyframe, data });
    this.#samplesTicks += durationTicks;
    this.#endTicks = dts + durationTicks;
    if (this.#track.kind === 'video') this.#frameTicks = durationTicks;
    if (this.#isFull()) this.#closePart();
  }

  #isFull(): boolean {
    const { timescale } = this.#track;
    if (this.#partTargetMs === undefined) {
      return this.#samples.length >= framesPerPart(this.#measureFrameRate().framesPerSecond);
    }
    const targetTicks = this.#targetTicks();
    if (this.#samplesTicks < LEAST_PART * targetTicks) return false;
    return targetTicks - this.#samplesTicks < this.#frameTicks - JITTER_S * timescale;
  }

  #measureFrameRate() {
    const { timescale } = this.#track;
    const declared = this.#track.kind === 'video' ? this.#track.declaredFrameRate : undefined;
    const inMilliseconds = this.#samples.every(({ dts }) => dts % (timescale / 1000) === 0);
    const resolutionS = inMilliseconds ? JITTER_S : 1 / timescale;
    return recogniseFrameRate(this.#samples.length, this.#samplesTicks / timescale, resolutionS, declared);
  }

  #targetTicks(): number {
    const { timescale } = this.#track;
    return Math.floor((this.#partTargetMs ?? PART_LENGTH_S * 1000) * (timescale / 1000));
  }

  #closePart(): void {
    const samples = this.#samples;
    if (samples.length === 0) return;
    const { timescale } = this.#track;
    const durationS = this.#samplesTicks / timescale;
    if (this.#partTargetMs === undefined) {
      const rate = this.#measureFrameRate();
      this.#framesPerSecond = rate.framesPerSecond;
      const asked = partTargetMs(framesPerPart(rate.framesPerSecond), rate);
      this.#partTargetMs = Math.max(asked, Math.ceil(durationS * 1000 - 1e-6));
    }
    this.#samples = [];
    this.#samplesTicks = 0;
    const bytes = fragment(this.#track, ++this.#fragments, samples);
    const { output } = this.#options;
    if (!output.reserve(bytes.length)) return;
    const resource = resourceOf(this.#track, [bytes]);
    const name = this.#takePartName();
    output.store(name, resource);
    const independent = samples.some((sample) => sample.keyframe);
    this.window.add({ name, durationS, independent, resource }, this.#endTicks / timescale);
  }

  #cut(mark: SegmentMark, startTicks: number): void {
    this.#closePart();
    const { open } = this.window;
    if (open !== undefined && open.parts.at(-1)?.resource === undefined) {
      const startS = startTicks / this.#track.timescale;
      if (startS <= this.#latestEndS(open)) this.gapTo(startS);
      else this.gapThrough(startS);
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
    const { discontinuity } = grid.at(mark.ordinal, { startS, discontinuity: mark.discontinuity });
    this.#init ??= this.#storeInit(this.#track, msn);
    this.#ordinal = mark.ordinal;
    this.#endTicks = startTicks;
    this.window.begin(
      {
        msn,
        startS,
        programDateTimeMs: Math.round(epoch + (startS + this.#compositionTicks / timescale) * 1000),
        discontinuity,
        independent: mark.independent,
        init: this.#init,
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

  #storeInit(track: Track, msn: number): string {
    const { output } = this.#options;
    let number = msn;
    while (output.has(initName(number))) number += 1;
    output.store(initName(number), resourceOf(track, [initSegment(track)]));
    return initName(number);
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
const initName = (msn: number): string => `init-${msn}.mp4`;

function frameTicksOf(track: Track): number {
  if (track.kind === 'audio') return track.samplesPerPacket;
  return Math.round(VIDEO_TIMESCALE * (track.declaredFrameRate ? 1 / track.declaredFrameRate : FIRST_GUESS_S));
}

function resourceOf(track: Track, pieces: readonly Uint8Array[]): MediaResource {
  const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { pieces, sizeBytes, contentType: `${track.kind}/mp4` };
}

/**
 * The sequence of one rendition. It puts its packets, and what is missing between them, in order, so that outputs get every segment of the
 * session with its mark. Pure: no clock, no I/O.
 */
import { type Ticks, ticks } from '#lib/units.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { GapReason, RenditionId, SessionEvent, TrackEvent } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';
import type { Cut, SegmentMarker } from './segment-marker.ts';

/**
 * How the packets of a rendition get their marks.
 * - `leader`: packets come marked, because they decide where segments begin. Where video leaves segments out, its last frame is held.
 * - `follower`: packets are marked by the sequence, where they reach a cut.
 * - `transcoded`: packets come with the marks of the leader's packets.
 */
export type RenditionRole = 'leader' | 'follower' | 'transcoded';

/** The options of a sequence. */
export interface RenditionSequenceOptions {
  readonly id: RenditionId;
  /** Read at every packet, because another track may become the leader. */
  readonly role: RenditionRole;
  /** Decides where segments begin. */
  readonly marker: Pick<SegmentMarker, 'cuts' | 'isWaiting'>;
  /** Called with each event. */
  readonly write: (id: RenditionId, event: SessionEvent) => void;
}

/** What the next packet continues. */
type Progress =
  | { readonly type: 'waiting' } // nothing: the next usable packet begins a segment
  | { readonly type: 'running' } // the previous packet
  | { readonly type: 'missing'; readonly why: GapReason } // the previous packet, but packets are known to be missing and no gap was written yet
  | { readonly type: 'gap'; readonly why: GapReason }; // a gap: the next usable packet can be decoded without earlier ones

/** The longest duration assumed for a frame, in seconds. */
const MAX_FRAME_S = 2;

/** The largest rounding error of timestamps in whole milliseconds, as RTMP has them. */
const ROUNDING_S = 0.0005;

const NO_CUTS: readonly Cut[] = [];
const WAITING: Progress = { type: 'waiting' };
const RUNNING: Progress = { type: 'running' };

/** Writes the events of one rendition. */
export class RenditionSequence {
  readonly #options: RenditionSequenceOptions;
  #progress = WAITING;
  #track: Track | undefined;
  #ordinal = -1;
  /** The end of everything written so far, in presentation time and seconds of session time. */
  #endS = 0;
  /** The decoding time of the newest packet, in seconds. Infinite when the next packet does not follow it. */
  #lastDtsS = Number.POSITIVE_INFINITY;
  /** The mark of a packet that could not be used. Its segment begins with the next usable packet. */
  #carriedMark: SegmentMark | undefined;

  constructor(options: RenditionSequenceOptions) {
    this.#options = options;
  }

  /** The configuration of the following packets. Undefined before the first. */
  get track(): Track | undefined {
    return this.#track;
  }

  /** The ordinal of the newest segment. -1 before the first. */
  get ordinal(): number {
    return this.#ordinal;
  }

  /** Whether packets are known to be missing after the newest one. */
  get isInterrupted(): boolean {
    return this.#progress.type === 'missing' || this.#progress.type === 'gap';
  }

  /** Whether packets of this rendition are missing although the source has them. */
  get isMissingAlone(): boolean {
    return this.isInterrupted && this.#why !== 'source_interrupted';
  }

  /** Sets the configuration of the following packets. */
  setTrack(event: TrackEvent): void {
    this.#track = event.track;
    this.#write(event);
  }

  /** Takes the next packet. Returns it as it was written, or undefined when it cannot be used. */
  packet(packet: Packet): Packet | undefined {
    const { role, marker } = this.#options;
    if (this.#track === undefined || (role !== 'transcoded' && marker.isWaiting)) return undefined;
    const shownS = packet.pts / this.#track.timescale;
    const due = this.#markOf(packet, shownS);
    if (!this.#isUsable(packet, shownS, due)) {
      this.#carriedMark = due;
      return undefined;
    }
    this.#carriedMark = undefined;
    this.#writeMissing(packet, shownS, due);
    const mark = due !== undefined && due.ordinal > this.#ordinal ? due : undefined;
    this.#ordinal = mark?.ordinal ?? this.#ordinal;
    // A worker may hand out packets from before a loss after it has reported the loss. Only a mark shows that a packet is from after it.
    if (this.#progress.type !== 'missing' || mark !== undefined) this.#progress = RUNNING;
    this.#noteEnd(packet, shownS, this.#track);
    const written = mark === packet.mark ? packet : withMark(packet, mark);
    this.#write({ type: 'packet', packet: written });
    return written;
  }

  /** Notes that the last frame is still shown at a presentation time. Does nothing when no frame was shown. */
  hold(pts: Ticks): void {
    if (this.#progress.type === 'waiting' || this.#track === undefined || this.#options.marker.isWaiting) return;
    const shownS = pts / this.#track.timescale;
    const cuts = this.#cutsUntil(shownS);
    this.#endS = Math.max(this.#endS, shownS);
    this.#lastDtsS = Number.POSITIVE_INFINITY;
    const newest = cuts.at(-1);
    if (newest === undefined) {
      this.#write({ type: 'held', pts });
      return;
    }
    for (const cut of cuts.slice(0, -1)) this.#holdSegment(cut, this.#track);
    this.#ordinal = newest.ordinal;
    this.#write({ type: 'held', pts, mark: markOf(newest, false) });
  }

  /** Notes that packets are missing after the newest one. {@link fillUntil} may write gaps until the next one comes. */
  interrupt(why: GapReason): void {
    const { type } = this.#progress;
    if (type !== 'waiting') this.#progress = { type: type === 'gap' ? 'gap' : 'missing', why };
  }

  /**
   * Writes gaps until a session time, in seconds of presentation time, once they have the length of a part. Does nothing before the
   * rendition has begun.
   */
  fillUntil(untilS: number): void {
    if (this.#progress.type === 'waiting' || untilS - this.#endS < PART_LENGTH_S) return;
    const why = this.#why;
    this.#writeGaps(untilS, why, this.#cutsUntil(untilS));
    this.#progress = { type: 'gap', why };
  }

  /** Ends the sequence. It may begin again with a track. */
  end(): void {
    this.#progress = WAITING;
    this.#ordinal = -1;
    if (this.#track !== undefined) this.#write({ type: 'end' });
    this.#track = undefined;
  }

  get #why(): GapReason {
    return this.#progress.type === 'missing' || this.#progress.type === 'gap' ? this.#progress.why : 'lost';
  }

  #write(event: SessionEvent): void {
    this.#options.write(this.#options.id, event);
  }

  #markOf(packet: Packet, shownS: number): SegmentMark | undefined {
    if (packet.mark !== undefined && packet.mark.ordinal > this.#ordinal) return packet.mark;
    if (this.#carriedMark !== undefined) return { ...this.#carriedMark, independent: packet.keyframe };
    if (this.#options.role !== 'follower') return undefined;
    const cuts = this.#cutsUntil(shownS);
    // Several segments may begin between two audio packets. Each segment still gets a packet of its own.
    const isNext = this.#progress.type === 'running' && !this.#isLate(shownS);
    const cut = isNext ? cuts[0] : cuts.at(-1);
    return cut && markOf(cut, true);
  }

  /** Whether audio of this time would leave a hole after what was written. */
  #isLate(shownS: number): boolean {
    return shownS - this.#endS > 2 * toleranceS(this.#track);
  }

  #isUsable(packet: Packet, shownS: number, mark: SegmentMark | undefined): boolean {
    switch (this.#progress.type) {
      case 'waiting':
        return mark !== undefined && packet.keyframe;
      case 'gap':
        // Packets that are shown before the end of the gap come too late, and packets that depend on them cannot be decoded.
        return packet.keyframe && shownS >= this.#endS - toleranceS(this.#track);
      default:
        return true;
    }
  }

  /** Writes what is missing before a packet. @param mark the mark that is due */
  #writeMissing({ kind }: Packet, shownS: number, mark: SegmentMark | undefined): void {
    const { type } = this.#progress;
    if (type === 'waiting') return;
    const isBehind = type === 'gap' || (type === 'missing' && mark !== undefined);
    if (kind === 'audio') {
      const isLate = this.#isLate(shownS);
      if (!isBehind && !isLate && mark === undefined) return;
      const dueFrom = mark?.ordinal ?? Number.POSITIVE_INFINITY;
      // After a hole, segments that begin well before this packet begin with silence.
      const silentUntilS = isLate ? shownS - 2 * toleranceS(this.#track) : Number.NEGATIVE_INFINITY;
      const isSilent = ({ ordinal, atS }: Cut) => ordinal < dueFrom || (ordinal === dueFrom && atS <= silentUntilS);
      const cuts = this.#cutsUntil(shownS).filter(isSilent);
      if (!isBehind && !isLate && cuts.length === 0) return;
      this.#writeGaps(shownS, this.#why, cuts);
      return;
    }
    const leftOut = mark === undefined ? NO_CUTS : this.#cutsBefore(mark);
    if (!isBehind && this.#options.role === 'leader') {
      for (const cut of leftOut) this.#holdSegment(cut, this.#track);
    } else if (isBehind || leftOut.length > 0) this.#writeGaps(this.#startOf(mark) ?? shownS, this.#why, leftOut);
  }

  /** Writes a gap for each segment, from the end of the rendition. @param cuts the segments that begin in the meantime */
  #writeGaps(untilS: number, why: GapReason, cuts: readonly Cut[]): void {
    let mark: SegmentMark | undefined;
    for (const cut of cuts) {
      this.#writeGap(cut.atS, why, mark);
      mark = markOf(cut, true);
    }
    this.#writeGap(untilS, why, mark);
  }

  #writeGap(untilS: number, why: GapReason, mark: SegmentMark | undefined): void {
    const fromS = this.#endS;
    if (untilS <= fromS && mark === undefined) return;
    this.#endS = Math.max(fromS, untilS);
    this.#lastDtsS = Number.POSITIVE_INFINITY;
    this.#ordinal = mark?.ordinal ?? this.#ordinal;
    const gap = { type: 'gap', fromS, untilS: this.#endS, why } as const;
    this.#write(mark === undefined ? gap : { ...gap, mark });
  }

  #holdSegment(cut: Cut, track: Track | undefined): void {
    if (track === undefined) return;
    this.#ordinal = cut.ordinal;
    this.#write({ type: 'held', pts: ticks(Math.round(cut.atS * track.timescale)), mark: markOf(cut, false) });
  }

  /** The cuts after the newest segment, up to a time. */
  #cutsUntil(untilS: number): readonly Cut[] {
    const { cuts } = this.#options.marker;
    if ((cuts.at(-1)?.ordinal ?? -1) <= this.#ordinal) return NO_CUTS;
    return cuts.filter(({ ordinal, atS }) => ordinal > this.#ordinal && atS <= untilS);
  }

  #cutsBefore(mark: SegmentMark): readonly Cut[] {
    if (mark.ordinal === this.#ordinal + 1) return NO_CUTS;
    return this.#options.marker.cuts.filter(({ ordinal }) => ordinal > this.#ordinal && ordinal < mark.ordinal);
  }

  #startOf(mark: SegmentMark | undefined): number | undefined {
    return mark && this.#options.marker.cuts.find(({ ordinal }) => ordinal === mark.ordinal)?.atS;
  }

  #noteEnd(packet: Packet, shownS: number, track: Track): void {
    const dtsS = packet.dts / track.timescale;
    const apartS = Math.min(MAX_FRAME_S, Math.max(0, dtsS - this.#lastDtsS));
    const frameS = track.kind === 'audio' ? track.samplesPerPacket / track.timescale : apartS;
    this.#lastDtsS = dtsS;
    this.#endS = Math.max(this.#endS, shownS + frameS);
  }
}

/** How far a packet may be from its expected time, because some protocols round times to milliseconds. */
function toleranceS(track: Track | undefined): number {
  return track?.kind === 'audio' ? track.samplesPerPacket / track.timescale / 2 : ROUNDING_S;
}

function markOf({ ordinal, discontinuity, discontinuitiesBefore }: Cut, independent: boolean): SegmentMark {
  return { ordinal, independent, discontinuity, discontinuitiesBefore };
}

function withMark(packet: Packet, mark: SegmentMark | undefined): Packet {
  if (mark !== undefined) return { ...packet, mark };
  const { kind, dts, pts, keyframe, data } = packet;
  return { kind, dts, pts, keyframe, data };
}

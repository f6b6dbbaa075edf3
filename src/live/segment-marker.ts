/**
 * Decides, once for all renditions, where segments begin. Why here: `docs/decisions/0001-segments-marked-before-they-fan-out.md`.
 *
 * The leading track (video if there is any) begins a segment at its first keyframe after the desired duration, or at an earlier keyframe
 * whose successor would probably come too late. A segment may exceed the target duration by {@link MOST_LATE_S}, because EXTINF only has to
 * round to it ({@link TARGET_ROUNDING_S}). Where the next keyframe is expected within this longest duration, the segment waits for it, also
 * after a pause of the leader. If no keyframe comes, the segment ends at the last frame that keeps it within the longest duration. Where
 * frames come at irregular times, this frame may exceed that duration, and outputs shorten the frame. A longer keyframe interval is divided
 * into segments of about the same length. A segment that began without a keyframe ends at the next keyframe.
 *
 * While the keyframe interval is not known, a segment that began with a keyframe also waits for the next one, but a pause of the leader
 * ends it earlier. A segment that began without a keyframe ends at the last frame that keeps it within the target duration.
 *
 * Without video the audio leads, and each of its packets is a keyframe. A leader that was interrupted begins a segment with its next
 * keyframe. Every other rendition begins the segment at its first packet that is presented at that time or later.
 *
 * While the leader pauses, {@link SegmentMarker.pass} cuts segments that exceed the target duration by at most {@link MOST_LATE_S}. While
 * the leader is absent, they exceed it by {@link ABSENT_LATE_S}. Pure: no clock, no I/O.
 */
import { TARGET_ROUNDING_S } from '#hls/hls.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import type { Track } from '#media/track.ts';
import { KeyframeMeter } from './keyframe-meter.ts';

/** The desired duration. A segment is cut at the first keyframe after it. */
const DESIRED_DURATION_S = 2;
/**
 * How much longer than the target duration a segment may be, because its keyframe is late or because the leader pauses. Encoders count the
 * frames between keyframes, so 60 frames of a camera that makes 29.7 a second last 2.02 s, and 60 of one that makes 25 last 2.4 s. When
 * other tracks are further ahead of the leader than this at the end of a segment, the leader has paused. A segment of the audio may be
 * one packet longer than that of the leader, so the value is smaller beside audio with long packets: see
 * {@link SegmentMarker.setAudioPacketS}.
 */
const MOST_LATE_S = 0.45;
/**
 * The same while the leader is absent. The value is smaller, because the segment before a returning leader becomes longer by the time
 * between decoding and presentation of its keyframe, which is not known earlier.
 */
const ABSENT_LATE_S = 0.35;
/** A keyframe that comes early begins no segment if the next one is expected at most this late, in seconds. */
const COUNTED_ON_S = 0.1;
/**
 * How long after its own time a cut is made while the leader is absent. The time of a returning leader may be rounded to milliseconds.
 * Without this delay, its first segment could begin earlier than the segment that was cut last.
 */
const CUT_AFTER_S = 0.005;
/** The number of remembered cuts, far more than the renditions can be apart. */
const REMEMBERED_CUTS = 64;

/** The beginning of a segment, the same for every rendition. */
export interface Cut extends Omit<SegmentMark, 'independent'> {
  /** The presentation time of the segment's first frame, in seconds of session time. */
  readonly atS: number;
}

/** What the next packet of the leader can do. */
type Phase =
  /** Nothing can be shown before the leader's next keyframe, which begins a segment. The previous segment, if any, began at `startS`. */
  { readonly type: 'waiting'; readonly discontinuity: boolean; readonly startS: number | undefined } | Running;

/** Segments follow each other. */
interface Running {
  readonly type: 'running';
  /** The decoding time of the growing segment's first frame, in seconds. */
  readonly startS: number;
  /** Whether the leader's next keyframe begins a segment, however short the growing one is, because that one began without a keyframe. */
  readonly isDue: boolean;
  /** Whether the leader has had its first keyframe. Earlier packets cannot be decoded. */
  readonly isLed: boolean;
  /** The last cut that was made while the leader paused and that the leader has not reached. */
  readonly missed: Cut | undefined;
}

/** The marker of one session. Packets come in session time, in decoding order. */
export class SegmentMarker {
  readonly #targetDurationS: number;
  /** See {@link MOST_LATE_S}. */
  #lateS = MOST_LATE_S;
  #phase: Phase;
  #cuts: readonly Cut[] = [];
  #nextOrdinal = 0;
  /** The number of segments so far that are marked as a discontinuity. */
  #discontinuities = 0;
  /** The decoding time of the leader's newest packet, in seconds. */
  #lastLeaderS = 0;
  /** The time between the leader's two newest frames, in seconds. */
  #stepS = 0;
  /**
   * The shorter of the two newest times between frames of the leader, in seconds. A single pause does not make it longer. Where the older
   * one is 0, because two packets had the same timestamp, it does not count.
   */
  #usualStepS = 0;
  /** The longest time between two frames of the growing segment, in seconds. */
  #longestStepS = 0;
  readonly #keyframes = new KeyframeMeter();
  /**
   * The offset from decoding to presentation time: the smallest of the leader's keyframes since a discontinuity. A keyframe of an open GOP
   * is followed by frames that are shown before it.
   */
  #compositionS = Number.POSITIVE_INFINITY;

  /** @param continued whether an earlier process has shown media of this session to viewers, which the first segment does not continue */
  constructor({ targetDurationS, continued = false }: { targetDurationS: number; continued?: boolean }) {
    this.#targetDurationS = targetDurationS;
    this.#phase = { type: 'waiting', discontinuity: continued, startS: undefined };
  }

  /** Whether nothing can be shown before the leader's next keyframe. */
  get isWaiting(): boolean {
    return this.#phase.type === 'waiting';
  }

  /** The newest cuts, in order. */
  get cuts(): readonly Cut[] {
    return this.#cuts;
  }

  /** Sets the duration of the audio's packets, in seconds. A segment of the audio may be longer by one packet: see {@link MOST_LATE_S}. */
  setAudioPacketS(packetS: number): void {
    this.#lateS = Math.min(MOST_LATE_S, TARGET_ROUNDING_S - packetS);
  }

  /** Notes that another track leads from now on. A segment begins at its first keyframe. */
  changeLeader(): void {
    this.#forgetLeader();
    if (this.#phase.type === 'running') {
      this.#phase = { ...this.#phase, isDue: true, isLed: false, missed: undefined };
    }
  }

  /**
   * Notes that the following media does not continue the previous media. Nothing passes until the leader's next keyframe, which is a
   * discontinuity.
   */
  discontinue(): void {
    this.#forgetLeader();
    this.#wait({ begins: true });
  }

  /**
   * Notes that the leader was interrupted and goes on with the same configuration. Nothing passes until its next keyframe, which begins a
   * segment. The segment is not marked as a discontinuity, because the time in between is filled.
   */
  interrupt(): void {
    this.#keyframes.restart();
    this.#wait({ begins: false });
  }

  /**
   * Notes that time has reached this point, in seconds. Begins the segments that the leader did not begin, because it has paused or is
   * absent.
   */
  pass(seconds: number): void {
    for (;;) {
      const phase = this.#phase;
      if (phase.startS === undefined) return;
      const isLed = phase.type === 'running' && phase.isLed;
      const targetS = this.#targetDurationS;
      // A segment of the leader is not cut before the target duration, even where frames are far apart.
      const lengthS = isLed ? Math.max(targetS, this.#fullS(phase.startS)) : targetS + ABSENT_LATE_S;
      const startS = phase.startS + lengthS;
      const cutS = startS + (isLed ? this.#compositionS : 0);
      if (seconds <= cutS + CUT_AFTER_S) return;
      const missed = this.#cut(cutS, false);
      this.#phase = phase.type === 'waiting' ? { ...phase, startS } : { ...phase, startS, isDue: true, missed };
    }
  }

  /** Returns the leader's packet, with its mark if it begins a segment. Undefined when it cannot be decoded yet. */
  mark(packet: Packet, { timescale }: Track): Packet | undefined {
    const atS = packet.dts / timescale;
    const phase = this.#phase;
    this.#note(packet, timescale);
    if (phase.type === 'waiting' || !phase.isLed) {
      if (!packet.keyframe) return undefined;
      // Time may have passed since the last cut. A segment is cut only if it would be too long when filled up to this packet, because
      // the frames written so far may reach to one tick before this packet, and this tick would be all that is left for the next segment.
      this.pass(atS - Math.max(0, this.#lateS - ABSENT_LATE_S));
      return this.#begin(packet, timescale);
    }
    const lengthS = atS - phase.startS;
    const { missed } = phase;
    // A keyframe may be a little earlier than the cut. Its segment then begins at the keyframe, so that it becomes no longer than others.
    // A keyframe that is much earlier arrives in a burst after a stall, when its time has already been filled.
    const isNear = lengthS >= 0 || (packet.keyframe && lengthS > -MOST_LATE_S);
    if (missed !== undefined && lengthS < DESIRED_DURATION_S && isNear) {
      this.#phase = { ...phase, startS: Math.min(phase.startS, atS), missed: undefined, isDue: !packet.keyframe };
      this.#longestStepS = 0;
      return marked(packet, missed);
    }
    // Another track, which is ahead of the leader, has begun the segment while the leader paused. This packet belongs before it.
    if (lengthS < 0 || atS + this.#compositionS <= (this.#cuts.at(-1)?.atS ?? 0)) return packet;
    const begins = packet.keyframe ? this.#mayEnd(phase, lengthS) : this.#mustEnd(phase, lengthS);
    if (!begins) return packet;
    this.#cutPause(phase.startS, lengthS);
    return this.#begin(packet, timescale);
  }

  /** The longest duration of a segment, in seconds. */
  get #latestS(): number {
    return this.#targetDurationS + this.#lateS;
  }

  /** Half the duration of a frame, in seconds. With times in whole milliseconds, a frame that is due at 2 s may come at 1.999 s. */
  get #toleranceS(): number {
    return this.#stepS / 2;
  }

  /** The time from this beginning of a segment to the leader's next expected keyframe, in seconds. Undefined before its second keyframe. */
  #leftS(startS: number): number | undefined {
    const expectedS = this.#keyframes.expectedAfter(startS);
    return expectedS === undefined ? undefined : expectedS - startS;
  }

  /**
   * The length at which the segment that began at this time has no room for another frame, in seconds. The next frame may last as long as
   * the longest frame of the segment. But where the next keyframe is expected within the longest duration of a segment, there is room up to
   * that keyframe, and the next frame is taken to last no longer than usual, even after a pause.
   */
  #fullS(startS: number): number {
    const leftS = this.#leftS(startS) ?? Number.POSITIVE_INFINITY;
    if (leftS > this.#latestS) return this.#latestS - this.#longestStepS;
    return Math.max(leftS, this.#latestS - this.#usualStepS);
  }

  /** Whether the growing segment ends before this keyframe. */
  #mayEnd({ isDue }: Running, lengthS: number): boolean {
    if (isDue || lengthS + this.#toleranceS >= DESIRED_DURATION_S) return true;
    // The next keyframe may come after the target duration, as after a keyframe at a scene cut, or with a GOP of 1.9 s. If this one were
    // not used, a segment would begin without a keyframe.
    const countedOnS = Math.max(this.#toleranceS, COUNTED_ON_S - this.#toleranceS);
    return lengthS + (this.#keyframes.intervalS ?? 0) > this.#targetDurationS + countedOnS;
  }

  /** Whether the growing segment must end before this frame, which is no keyframe. */
  #mustEnd({ startS, isDue }: Running, lengthS: number): boolean {
    if (lengthS >= this.#fullS(startS)) return true;
    const leftS = this.#leftS(startS);
    if (leftS === undefined) return isDue && lengthS + this.#toleranceS > this.#targetDurationS;
    return leftS > this.#latestS && lengthS + this.#toleranceS > this.#evenS(leftS);
  }

  /** The length of equal segments that fill the time until the next keyframe, and leave room for a late keyframe. */
  #evenS(leftS: number): number {
    return leftS / Math.ceil(leftS / (this.#targetDurationS + this.#lateS / 2));
  }

  get #isDiscontinuous(): boolean {
    return this.#phase.type === 'waiting' && this.#phase.discontinuity;
  }

  /** @param begins whether a discontinuity begins, unless nothing has been shown yet */
  #wait({ begins }: { readonly begins: boolean }): void {
    const { startS } = this.#phase;
    const discontinuity = this.#isDiscontinuous || (begins && startS !== undefined);
    this.#phase = { type: 'waiting', discontinuity, startS };
  }

  #forgetLeader(): void {
    this.#compositionS = Number.POSITIVE_INFINITY;
    this.#keyframes.restart();
  }

  #note({ keyframe, dts, pts }: Packet, timescale: number): void {
    const atS = dts / timescale;
    const stepS = Math.max(0, atS - this.#lastLeaderS);
    this.#usualStepS = Math.min(stepS, this.#stepS || stepS);
    this.#stepS = stepS;
    this.#longestStepS = Math.max(this.#longestStepS, this.#stepS);
    this.#lastLeaderS = atS;
    this.#keyframes.add(keyframe, atS);
    if (keyframe) this.#compositionS = Math.min(this.#compositionS, (pts - dts) / timescale);
  }

  /** Begins a segment with this packet. */
  #begin(packet: Packet, timescale: number): Packet {
    const atS = packet.dts / timescale;
    const cut = this.#cut(Math.min(atS + this.#compositionS, packet.pts / timescale), this.#isDiscontinuous);
    this.#phase = { type: 'running', startS: atS, isDue: !packet.keyframe, isLed: true, missed: undefined };
    this.#longestStepS = 0;
    return marked(packet, cut);
  }

  /** Cuts a pause that no other track has cut into segments within the target duration. */
  #cutPause(startS: number, lengthS: number): void {
    const overS = lengthS - this.#targetDurationS - TARGET_ROUNDING_S;
    const count = Math.ceil(Math.max(0, overS) / this.#targetDurationS);
    for (let index = 1; index <= count; index++) {
      this.#cut(startS + this.#compositionS + (index * lengthS) / (count + 1), false);
    }
  }

  /** @param atS the presentation time of the segment's first frame */
  #cut(atS: number, discontinuity: boolean): Cut {
    const discontinuitiesBefore = this.#discontinuities;
    const cut = { ordinal: this.#nextOrdinal++, atS, discontinuity, discontinuitiesBefore };
    if (discontinuity) this.#discontinuities += 1;
    this.#cuts = [...this.#cuts, cut].slice(-REMEMBERED_CUTS);
    return cut;
  }
}

function marked(packet: Packet, { ordinal, discontinuity, discontinuitiesBefore }: Cut): Packet {
  return { ...packet, mark: { ordinal, independent: packet.keyframe, discontinuity, discontinuitiesBefore } };
}

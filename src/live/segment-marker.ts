/**
 * Decides, once for all renditions, where segments are cut, and marks it on the packets.
 *
 * The leading track (video where there is video) is cut at its first keyframe after the asked duration; without one, at
 * the last frame that keeps the segment within the target duration. The other track is cut at its first packet
 * presented at or after the same time. Pure: no clock, no I/O.
 */
import { TARGET_ROUNDING_S } from '#hls/hls.ts';
import { isHeld, type Packet } from '#media/packet.ts';
import type { Track, TrackKind } from '#media/track.ts';

/** A segment is cut at the first keyframe after this. */
const ASKED_DURATION_S = 2;
/** The other track may be this far ahead of a leader that is about to cut; further, and the leader has stopped. */
const LEADER_LATE_S = 0.35;
/** Cuts a following track has not reached yet; more means the track is gone, and older cuts no longer matter to it. */
const MAX_PENDING_CUTS = 16;

interface Cut {
  readonly ordinal: number;
  /** Presentation time of the segment's first frame, in seconds. */
  readonly atSeconds: number;
  readonly discontinuity: boolean;
}

/** The rule for one session. Packets come in session time, each track's in decoding order. */
export class SegmentMarker {
  readonly #targetDurationS: number;
  #leader: TrackKind;
  #nextOrdinal = 0;
  #segmentStart = 0;
  #lastLeaderSeconds = 0;
  /**
   * From decoding to presentation: the least of the leader's keyframes since a discontinuity. Behind one of an open group of pictures
   * come some that are shown before it.
   */
  #compositionSeconds = Number.POSITIVE_INFINITY;
  #discontinuityDue = false;
  /** The next leader packet that can start a segment does so, however short the last one was. */
  #cutDue = true;
  /** Cuts the following track has not reached. */
  #pending: Cut[] = [];
  /** The last cut made while the leader had stopped, which it has not reached. */
  #missedCut: Cut | undefined;
  /** Of the last cut that its picture, shown on meanwhile, has reached. */
  #heldOrdinal = -1;
  /** Tracks that have had a mark; a track's packets before its first one belong to no segment. */
  readonly #begun = new Set<TrackKind>();

  constructor(options: { targetDurationS: number; leader: TrackKind }) {
    this.#targetDurationS = options.targetDurationS;
    this.#leader = options.leader;
  }

  /** The track that decides; changing it cuts at the new leader's next keyframe. */
  lead(kind: TrackKind): void {
    if (kind === this.#leader) return;
    this.#leader = kind;
    this.#cutDue = true;
    this.#compositionSeconds = Number.POSITIVE_INFINITY;
    this.#missedCut = undefined;
    this.#pending = [];
  }

  /** What follows does not continue what went before: cut at the leader's next keyframe, with a discontinuity. */
  discontinue(): void {
    this.#missedCut = undefined;
    this.#discontinuityDue = true;
    this.#cutDue = true;
    this.#compositionSeconds = Number.POSITIVE_INFINITY;
  }

  /**
   * The same after gap segments were written: nothing passes until the leader's next keyframe.
   * @param nextOrdinal ordinal of the segment that begins there
   */
  resume(nextOrdinal: number): void {
    this.#nextOrdinal = nextOrdinal;
    this.#pending = [];
    this.#begun.clear();
    this.discontinue();
  }

  /** Time has come to here, in seconds: cuts for a leader that has stopped. */
  pass(seconds: number): void {
    const latestSeconds = this.#segmentStart + this.#targetDurationS + LEADER_LATE_S;
    if (this.#waitsForKeyframe() || seconds <= latestSeconds) return;
    this.#missedCut = this.#cut(latestSeconds, latestSeconds);
    this.#cutDue = true; // a leader that comes back begins a segment as soon as it can
  }

  /** The packet with its mark, if it starts a segment; undefined when nothing could be decoded from it yet. */
  mark(packet: Packet, track: Track): Packet | undefined {
    if (isHeld(packet)) return this.#markHeld(packet, track);
    return track.kind === this.#leader ? this.#markLeader(packet, track) : this.#markFollower(packet, track);
  }

  #markLeader(packet: Packet, track: Track): Packet | undefined {
    const seconds = packet.dts / track.timescale;
    const frameSeconds = Math.max(0, seconds - this.#lastLeaderSeconds);
    const lengthSeconds = seconds - this.#segmentStart;
    // Half a frame of tolerance: with times in whole milliseconds a frame due at 2 s may come at 1.999 s.
    const longEnough = lengthSeconds + frameSeconds / 2 >= ASKED_DURATION_S;
    const tooLongWithThis = lengthSeconds + frameSeconds / 2 > this.#targetDurationS;
    const cut = packet.keyframe ? this.#cutDue || longEnough : tooLongWithThis && !this.#waitsForKeyframe();
    if (!cut && (this.#waitsForKeyframe() || !this.#begun.has(track.kind))) return undefined;
    this.#lastLeaderSeconds = seconds;
    const compositionSeconds = (packet.pts - packet.dts) / track.timescale;
    if (packet.keyframe) this.#compositionSeconds = Math.min(this.#compositionSeconds, compositionSeconds);
    const missed = this.#missedCut;
    if (missed !== undefined && lengthSeconds < ASKED_DURATION_S && (lengthSeconds >= 0 || packet.keyframe)) {
      this.#missedCut = undefined;
      this.#cutDue = !packet.keyframe;
      return marked(packet, missed, packet.keyframe);
    }
    if (!cut) return packet;
    if (this.#begun.has(track.kind) && !this.#discontinuityDue) this.#nextOrdinal += this.#missingBefore(lengthSeconds);
    this.#begun.add(track.kind);
    const presentSeconds = Math.min(seconds + this.#compositionSeconds, packet.pts / track.timescale);
    return marked(packet, this.#cut(seconds, presentSeconds), packet.keyframe);
  }

  /** Follows the leader's cuts. */
  #markFollower(packet: Packet, track: Track): Packet | undefined {
    const seconds = packet.pts / track.timescale;
    this.pass(seconds);
    const reached = this.#pending.filter((cut) => cut.atSeconds <= seconds);
    const latest = reached.at(-1);
    if (latest === undefined) return this.#waitsForKeyframe() || !this.#begun.has(track.kind) ? undefined : packet;
    this.#begun.add(track.kind);
    this.#pending = this.#pending.slice(reached.length);
    const discontinuity = reached.some((cut) => cut.discontinuity);
    return marked(packet, { ...latest, discontinuity }, true);
  }

  /** The leader's picture, shown on: follows the cuts made without it. */
  #markHeld(packet: Packet, track: Track): Packet | undefined {
    if (this.#waitsForKeyframe() || !this.#begun.has(track.kind)) return undefined;
    const cut = this.#missedCut;
    if (cut === undefined || cut.ordinal === this.#heldOrdinal || packet.pts / track.timescale < cut.atSeconds) {
      return packet;
    }
    this.#heldOrdinal = cut.ordinal;
    return marked(packet, cut, false);
  }

  /** Segments to be left out where the leader paused so long that its growing one cannot last until now. */
  #missingBefore(lengthSeconds: number): number {
    const overSeconds = lengthSeconds - this.#targetDurationS - TARGET_ROUNDING_S;
    return Math.ceil(Math.max(0, overSeconds) / this.#targetDurationS);
  }

  /** Before the first segment and behind a discontinuity only a keyframe can begin. */
  #waitsForKeyframe(): boolean {
    return this.#cutDue && (this.#discontinuityDue || this.#nextOrdinal === 0);
  }

  #cut(decodeSeconds: number, presentSeconds: number): Cut {
    this.#missedCut = undefined;
    const cut = { ordinal: this.#nextOrdinal++, atSeconds: presentSeconds, discontinuity: this.#discontinuityDue };
    this.#segmentStart = decodeSeconds;
    this.#cutDue = false;
    this.#discontinuityDue = false;
    this.#pending = [...this.#pending, cut].slice(-MAX_PENDING_CUTS);
    return cut;
  }
}

function marked(packet: Packet, { ordinal, discontinuity }: Cut, independent: boolean): Packet {
  return { ...packet, mark: { ordinal, independent, discontinuity } };
}

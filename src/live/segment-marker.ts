/**
 * Decides, once for all renditions, where segments are cut, and marks it on the packets.
 *
 * The leading track (video where there is video) is cut at its first keyframe after the asked duration; without one, at
 * the last frame that keeps the segment within the target duration. The other track is cut at its first packet
 * presented at or after the same time. Pure: no clock, no I/O.
 */
import type { Packet } from '#media/packet.ts';
import type { Track, TrackKind } from '#media/track.ts';

/** A segment is cut at the first keyframe after this. */
const ASKED_DURATION_S = 2;
/** The other track may be this far ahead of a leader that is about to cut; further, and the leader has stopped. */
const LEADER_LATE_S = 0.4;
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
    this.#pending = [];
  }

  /** What follows does not continue what went before: cut at the leader's next keyframe, with a discontinuity. */
  discontinue(): void {
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

  /** The packet with its mark, if it starts a segment; undefined when nothing could be decoded from it yet. */
  mark(packet: Packet, track: Track): Packet | undefined {
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
    if (!cut) return packet;
    this.#begun.add(track.kind);
    const made = this.#cut(seconds, Math.min(seconds + this.#compositionSeconds, packet.pts / track.timescale));
    return {
      ...packet,
      mark: { ordinal: made.ordinal, independent: packet.keyframe, discontinuity: made.discontinuity },
    };
  }

  /** Follows the leader's cuts; makes one itself when the leader has stopped. */
  #markFollower(packet: Packet, track: Track): Packet | undefined {
    const seconds = packet.pts / track.timescale;
    if (!this.#waitsForKeyframe() && seconds - this.#segmentStart > this.#targetDurationS + LEADER_LATE_S) {
      this.#cut(seconds, seconds);
      this.#cutDue = true; // a leader that comes back begins a segment as soon as it can
    }
    const reached = this.#pending.filter((cut) => cut.atSeconds <= seconds);
    const latest = reached.at(-1);
    if (latest === undefined) return this.#waitsForKeyframe() || !this.#begun.has(track.kind) ? undefined : packet;
    this.#begun.add(track.kind);
    this.#pending = this.#pending.slice(reached.length);
    const discontinuity = reached.some((cut) => cut.discontinuity);
    return { ...packet, mark: { ordinal: latest.ordinal, independent: true, discontinuity } };
  }

  /** Before the first segment and behind a discontinuity only a keyframe can begin. */
  #waitsForKeyframe(): boolean {
    return this.#cutDue && (this.#discontinuityDue || this.#nextOrdinal === 0);
  }

  #cut(decodeSeconds: number, presentSeconds: number): Cut {
    const cut = { ordinal: this.#nextOrdinal++, atSeconds: presentSeconds, discontinuity: this.#discontinuityDue };
    this.#segmentStart = decodeSeconds;
    this.#cutDue = false;
    this.#discontinuityDue = false;
    this.#pending = [...this.#pending, cut].slice(-MAX_PENDING_CUTS);
    return cut;
  }
}

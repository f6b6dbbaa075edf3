/**
 * Translates a publisher's timestamps to session time.
 *
 * Session time begins with the session and never goes back. It follows the wall clock closely enough for EXT-X-PROGRAM-DATE-TIME, because
 * every start or restart of a publisher is placed by the wall clock.
 */
import { ticks } from '#lib/units.ts';
import { packetSamples } from '#media/codecs.ts';
import type { Packet } from '#media/packet.ts';
import type { AudioTrack, TrackId } from '#media/track.ts';
import { MAX_APART_S } from './interleaver.ts';
import type { SelectedTrack } from './track-selection.ts';

/** A packet whose timestamp is further than this from the position of its track does not continue the track. */
const JUMP_S = 1;
/**
 * How far media may be ahead of the wall clock, in seconds. An encoder that had to wait for its connection sends its queue in one burst,
 * whose first packet is placed at the present. Other media is never ahead for long.
 */
export const MAX_AHEAD_S = 10;
/**
 * The longest pause in seconds. A longer time without media is a jump, even when timestamps and wall clock agree.
 */
export const MAX_PAUSE_S = 60;
/** The most consecutive frames whose timestamps do not rise. One more is a jump. No encoder sends as many within {@link JUMP_S}. */
const MAX_STANDING_STILL = 300;
/** Audio that comes less than this after a run of complete packets follows without a gap: its time is rounded, or jitters. */
const AUDIO_GAP_S = 0.04;
/**
 * How much later than its timestamp audio may be placed, in seconds, because complete packets come before it. Some publishers stamp two or
 * four packets alike, or one packet late and the next one in time. It is less than people notice: 0.125 s (ITU-R BT.1359).
 */
const AUDIO_LATE_S = 0.1;
/** Audio is late by at least this many packets before one is dropped, because dropping it must not leave a gap. */
const LATE_PACKETS = 1.5;

/** The result for a packet. */
export type Placement =
  | { readonly type: 'placed'; readonly packet: Packet }
  | { readonly type: 'dropped' }
  | { readonly type: 'jumped' } // the leading track does not continue: restart by the wall clock
  | { readonly type: 'ahead' }; // the leading track is too far ahead: restart when the wall clock has caught up

interface TrackClock {
  timescale: number;
  /** Session ticks minus publisher ticks. */
  offset: number;
  /** The expected position of the next packet, in session ticks. */
  expected: number;
  /** The session time by the wall clock when the newest packet came, in seconds. */
  arrivedSeconds: number;
  /** The session time in seconds of the newest packet that fits, even if it is from before the start. Undefined before the first. */
  reachedSeconds: number | undefined;
  /** {@link reachedSeconds} when the leader's newest packet was placed, or that of this track's first packet, if it came later. */
  atLeaderSeconds: number | undefined;
  started: boolean;
  /** How long a run of packets that do not fit has lasted, in ticks. */
  misfitTicks: number;
  lastMisfitDts: number | undefined;
  /** The number of consecutive packets that were not later than the previous one. */
  standingStill: number;
}

/** The clock of one connection of a publisher within a session. Make a new one for each start or restart. */
export class Timeline {
  readonly #leader: TrackId;
  readonly #startSeconds: number;
  /** The publisher's time of the start, in seconds. */
  readonly #originSeconds: number;
  readonly #clocks = new Map<TrackId, TrackClock>();

  /**
   * @param leader the track whose jumps restart the session's clock
   * @param first the first packet to be placed, of the leader
   * @param startSeconds the session time at which it is placed
   */
  constructor({ id, track }: SelectedTrack, first: Packet, startSeconds: number) {
    this.#leader = id;
    this.#startSeconds = startSeconds;
    this.#originSeconds = first.dts / track.timescale;
  }

  /**
   * Places the next packet of a track. Decoding times handed out rise strictly within a track.
   * @param arrivedSeconds session time by the wall clock
   */
  place(selected: SelectedTrack, packet: Packet, arrivedSeconds: number): Placement {
    const { id, track } = selected;
    const clock = this.#clockOf(selected);
    const silentSeconds = arrivedSeconds - clock.arrivedSeconds;
    clock.arrivedSeconds = arrivedSeconds;
    const mapped = packet.dts + clock.offset;
    const gap = (mapped - clock.expected) / track.timescale;
    if (Math.abs(gap) > JUMP_S && !this.#isPause(gap, silentSeconds, selected)) {
      return this.#misfit(packet, selected, clock);
    }
    if (mapped / track.timescale > arrivedSeconds + MAX_AHEAD_S) {
      return { type: id === this.#leader ? 'ahead' : 'dropped' };
    }
    clock.reachedSeconds = mapped / track.timescale;
    clock.atLeaderSeconds ??= clock.reachedSeconds;
    if (!clock.started) {
      if (gap < 0) return { type: 'dropped' }; // from before the start
      clock.expected = mapped;
      clock.started = true;
    }
    clock.misfitTicks = 0;
    clock.lastMisfitDts = undefined;
    if (id === this.#leader) {
      for (const other of this.#clocks.values()) other.atLeaderSeconds = other.reachedSeconds;
    }
    return track.kind === 'video' ? placeVideo(packet, mapped, clock) : placeAudio(packet, mapped, track, clock);
  }

  /** The position of the furthest track, in seconds of session time. */
  get endSeconds(): number {
    let end = this.#startSeconds;
    for (const clock of this.#clocks.values()) end = Math.max(end, secondsOf(clock));
    return end;
  }

  /** The position of the leader if it continues like the wall clock, in seconds of session time. Undefined before its first packet. */
  leaderSeconds(nowSeconds: number): number | undefined {
    const clock = this.#clocks.get(this.#leader);
    return clock && secondsOf(clock) + nowSeconds - clock.arrivedSeconds;
  }

  #clockOf({ id, track }: SelectedTrack): TrackClock {
    let clock = this.#clocks.get(id);
    if (clock === undefined) {
      const start = Math.round(this.#startSeconds * track.timescale);
      const offset = this.#offsetOf(track);
      const leaderAt = this.#clocks.get(this.#leader);
      // The audio may come up to MAX_APART_S later than the leader, but nothing is placed before the start.
      const expected =
        leaderAt === undefined
          ? start
          : Math.max(start, Math.floor((secondsOf(leaderAt) - MAX_APART_S) * track.timescale));
      clock = {
        timescale: track.timescale,
        offset,
        expected,
        arrivedSeconds: Number.NEGATIVE_INFINITY,
        reachedSeconds: undefined,
        atLeaderSeconds: undefined,
        started: false,
        misfitTicks: 0,
        lastMisfitDts: undefined,
        standingStill: 0,
      };
      this.#clocks.set(id, clock);
    }
    if (clock.timescale !== track.timescale) rescale(clock, track.timescale);
    return clock;
  }

  /** Session ticks minus publisher ticks for a track whose timestamps are by the same clock as those of the leader. */
  #offsetOf({ timescale }: SelectedTrack['track']): number {
    return Math.round(this.#startSeconds * timescale) - Math.round(this.#originSeconds * timescale);
  }

  /**
   * Whether a step forward is a pause and not a jump, because the other track, or for video alone the wall clock, has advanced by as much,
   * or the other track has come to the same position. The size of the step counts, because the audio may always be sent before or after the
   * video of the same time. Audio alone needs no such rule, because media can restart at any of its packets. The wall clock counts for at
   * most {@link MAX_PAUSE_S}, so that no publisher can have more than that filled.
   */
  #isPause(gapSeconds: number, silentSeconds: number, { id, track }: SelectedTrack): boolean {
    if (gapSeconds < 0) return false;
    const atSeconds = secondsOf(this.#clocks.get(id)!) + gapSeconds;
    const others = [...this.#clocks].filter(([other, { started }]) => other !== id && started);
    if (others.length === 0) {
      return track.kind === 'video' && gapSeconds <= MAX_PAUSE_S && Math.abs(gapSeconds - silentSeconds) <= JUMP_S;
    }
    const isLeader = id === this.#leader;
    return others.some(([, other]) => {
      if (Math.abs(secondsOf(other) - atSeconds) <= (isLeader ? JUMP_S : MAX_APART_S)) return true;
      const { reachedSeconds = 0, atLeaderSeconds = 0 } = other;
      return isLeader && Math.abs(reachedSeconds - atLeaderSeconds - gapSeconds) <= JUMP_S;
    });
  }

  /**
   * Handles a packet that does not fit. A jump of the leader restarts everything. Packets of another track may be from before a jump of the
   * leader, or from after one that the leader will make in a moment. They are dropped until they have gone on for so long that the track
   * must have a clock of its own. A track that is in step with the leader by the offset of the leader's clock keeps that offset.
   */
  #misfit(packet: Packet, { id, track }: SelectedTrack, clock: TrackClock): Placement {
    if (id === this.#leader) return { type: 'jumped' };
    const step = packet.dts - (clock.lastMisfitDts ?? packet.dts);
    clock.misfitTicks += step > 0 && step < JUMP_S * track.timescale ? step : 0;
    clock.lastMisfitDts = packet.dts;
    if (clock.misfitTicks >= JUMP_S * track.timescale) {
      const leader = this.#clocks.get(this.#leader);
      const nowSeconds = leader === undefined ? this.#startSeconds : secondsOf(leader);
      const offset = this.#offsetOf(track);
      const isInStep = Math.abs((packet.dts + offset) / track.timescale - nowSeconds) <= MAX_APART_S;
      const at = isInStep ? packet.dts + offset : Math.round(nowSeconds * track.timescale);
      clock.expected = Math.max(clock.expected, at);
      clock.offset = isInStep ? offset : clock.expected - packet.dts;
      clock.misfitTicks = 0;
    }
    return { type: 'dropped' };
  }
}

/** The position of a track, in seconds of session time. */
function secondsOf({ expected, timescale }: TrackClock): number {
  return expected / timescale;
}

/** Continues a clock with another timescale, because the sample rate of the audio changed. */
function rescale(clock: TrackClock, timescale: number): void {
  const factor = timescale / clock.timescale;
  clock.timescale = timescale;
  clock.offset = Math.round(clock.offset * factor);
  clock.expected = Math.ceil(clock.expected * factor);
  clock.misfitTicks = 0;
  clock.lastMisfitDts = undefined;
}

function placeVideo(packet: Packet, mapped: number, clock: TrackClock): Placement {
  const lowest = clock.expected;
  clock.standingStill = mapped < lowest ? clock.standingStill + 1 : 0;
  if (clock.standingStill > MAX_STANDING_STILL) return { type: 'jumped' };
  const dts = Math.max(mapped, lowest);
  clock.expected = dts + 1;
  return placed(packet, dts, Math.max(dts, packet.pts + clock.offset));
}

/** Places audio, which is counted in samples: a run of packets follows without gaps, however the publisher's milliseconds are rounded. */
function placeAudio(packet: Packet, mapped: number, track: AudioTrack, clock: TrackClock): Placement {
  const samples = packetSamples(track, packet.data);
  const late = clock.expected - mapped;
  // There is more audio than time, and dropping one packet puts it back in step.
  if (late > Math.max(AUDIO_LATE_S * track.timescale, LATE_PACKETS * samples)) return { type: 'dropped' };
  const dts = late < -AUDIO_GAP_S * track.timescale ? mapped : clock.expected;
  clock.expected = dts + samples;
  return placed(packet, dts, dts);
}

function placed(packet: Packet, dts: number, pts: number): Placement {
  return { type: 'placed', packet: { ...packet, dts: ticks(dts), pts: ticks(pts) } };
}

/**
 * The sequence of a session: what happens to each of its renditions, in order.
 *
 * `live` makes the sequence and gives it to every output of the session. It alone decides when something happens in session time, where
 * segments are cut and what their ordinals are. Outputs belong to folders that cannot import `live`, which is why their contract is stated
 * here.
 */
import type { Ticks } from '#lib/units.ts';
import type { Packet, SegmentMark } from './packet.ts';
import type { Track } from './track.ts';

/** Names one rendition of a session in events, playlists and addresses. It is unique within the session. */
export type RenditionId = string;

/** Why media is missing. */
export const GAP_REASONS = [
  // The source gives no usable media. Its publisher may be connected: its network stalls, its timestamps jump or are too far ahead of the
  // clock, or a track changed far from a keyframe.
  'source_interrupted',
  'lost', // the source continues, and packets of this rendition are missing: of the audio alone, or of what a transcoder makes
  'shed', // the machine is too slow to make every rendition, and this one is paused for now
] as const;
/** One of {@link GAP_REASONS}. */
export type GapReason = (typeof GAP_REASONS)[number];

/** The configuration of the packets that follow. It holds from the next segment on. */
export interface TrackEvent {
  readonly type: 'track';
  readonly track: Track;
  /** The average bitrate in bits per second, as the publisher or the profile states it. Undefined when neither does. */
  readonly averageBps?: number | undefined;
  /**
   * The bitrate that the encoder keeps every segment below, in bits per second, except a short one before a discontinuity. Undefined
   * without such a limit.
   */
  readonly peakBps?: number | undefined;
}

/** The next packet, in decoding order and session time. The first packet of a segment carries the segment's mark. */
export interface PacketEvent {
  readonly type: 'packet';
  readonly packet: Packet;
}

/**
 * No frame arrived, so the last frame is still shown at this time. A transcoder repeats that frame. Other outputs need only the mark, if
 * there is one.
 */
export interface HeldEvent {
  readonly type: 'held';
  /** Presentation time, in ticks of the track's timescale. */
  readonly pts: Ticks;
  /** Set when a segment begins here although no frame arrived. */
  readonly mark?: SegmentMark;
}

/**
 * Media is missing. A gap lies within one segment. A gap over several segments is several events, of which all but the first carry the
 * mark of their segment. A gap that has not ended yet is reported in pieces, each of which begins at the end of the piece before.
 */
export interface GapEvent {
  readonly type: 'gap';
  /** Session time, in seconds, at which the missing media would have been shown. */
  readonly fromS: number;
  readonly untilS: number;
  readonly why: GapReason;
  /** Set when a segment begins with this gap. */
  readonly mark?: SegmentMark;
}

/** Nothing follows in this rendition, unless it starts again with a track. */
export interface EndEvent {
  readonly type: 'end';
}

/** What happens to one rendition of a session. */
export type SessionEvent = TrackEvent | PacketEvent | HeldEvent | GapEvent | EndEvent;

/**
 * Receives the sequence of a session. Outputs are attached and detached while the session runs. An output that is attached late first gets
 * the track of each rendition, and then everything from its newest keyframe on. Where too much has come since, it begins at the next one.
 */
export interface SessionOutput {
  /** Whether the session ends when this output throws. When an output throws that is not required, the session continues. */
  readonly isRequired: boolean;
  /**
   * Takes the next event of a rendition. It must return at once. A slow output queues events, and bounds its queue itself: the session does
   * not measure it. A packet that is kept keeps alive the whole slab in which it lies (`sample-memory.ts`). The bytes of packets are shared
   * and must not be changed. An output that throws is detached and closed, without effect on other outputs.
   */
  write(renditionId: RenditionId, event: SessionEvent): void;
  /**
   * Called once, when no event follows: the session has ended, the server stops, or the output was detached, by its owner or because it
   * threw. It must return at once, and frees what the output holds. Every rendition of a session that has ended had its `end` event before.
   * When the server stops there is none, because the session may continue after a restart.
   */
  close?(): void;
}

/**
 * The packet: one encoded access unit with its timestamps, in which media passes from stage to stage.
 */

import type { Ticks } from '#lib/units.ts';
import type { TrackKind } from './track.ts';

/** Marks the start of a segment. It is decided once for each session, and holds for every rendition. */
export interface SegmentMark {
  /** The segment's number in its session, from 0. Every rendition has the same segments, and leaves none out. */
  readonly ordinal: number;
  /** Whether the segment begins with a keyframe. Always true for audio. */
  readonly independent: boolean;
  /** Whether this segment does not continue the one before: EXT-X-DISCONTINUITY. */
  readonly discontinuity: boolean;
  /** How many of the session's segments before this one are marked as a discontinuity. */
  readonly discontinuitiesBefore: number;
}

/** One encoded access unit. Its bytes never change. */
export interface Packet {
  readonly kind: TrackKind;
  /** Decoding time in ticks of its track's timescale: by the publisher's clock before the timeline, and in session time after it. */
  readonly dts: Ticks;
  /** Presentation time in the same ticks. At least `dts`. */
  readonly pts: Ticks;
  /** Whether a decoder can start here. Always true for audio. */
  readonly keyframe: boolean;
  /**
   * H.264, H.265: NAL units, each preceded by its length, whose size the track's configuration states. AV1: the OBUs of a
   * temporal unit, without delimiters. AAC: one raw frame. Opus: one packet.
   */
  readonly data: Uint8Array;
  /** Set when this packet is the first of a segment. */
  readonly mark?: SegmentMark;
}
